"""The admin site: for organizers and operators, with the site's own sign-in."""

from django.contrib.admin import AdminSite
from django.http import HttpRequest


class HoldfastAdminSite(AdminSite):
    site_header = "Holdfast"
    site_title = "Holdfast"
    index_title = "Your competitions"

    def has_permission(self, request: HttpRequest) -> bool:
        user = request.user
        return user.is_active and (user.is_superuser or getattr(user, "is_organizer", False))
