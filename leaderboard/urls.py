"""All routes: the pages, the console, the API, the admin."""

from django.contrib import admin
from django.urls import include, path

handler500 = "leaderboard.platform.outages.server_error"
handler429 = "leaderboard.platform.outages.too_many_requests"  # allauth's

# They are tried in this order: what is asked most comes first.
urlpatterns = [
    path("api/v1/", include("leaderboard.api.urls")),
    path("", include("leaderboard.web.urls")),
    path("organize/", include("leaderboard.web.organize.urls")),
    path("account/", include("allauth.account.urls")),
    path("account/second-factor/", include("allauth.mfa.urls")),
    path("account/providers/", include("allauth.socialaccount.urls")),
    path("admin/", admin.site.urls),
]
