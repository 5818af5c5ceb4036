"""App configuration: checks are registered here, the admin site is ours."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class LeaderboardConfig(AppConfig):
    name = "leaderboard"
    verbose_name = "Competitions"

    def ready(self) -> None:
        # Imported for their registration: system checks, and the Celery app that tasks bind to.
        from leaderboard import celery, checks  # noqa: F401


class HoldfastAdminConfig(AdminConfig):
    default_site = "leaderboard.admin.site.HoldfastAdminSite"
