"""App configuration: checks are registered here, the admin site is ours."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig
from django.contrib.staticfiles.apps import StaticFilesConfig


class LeaderboardConfig(AppConfig):
    """The one app."""

    name = "leaderboard"
    verbose_name = "Competitions"

    def ready(self) -> None:
        # Imported for their registration: system checks, the Celery app that tasks bind to, and
        # what listens to allauth.
        from leaderboard import celery, checks  # noqa: F401
        from leaderboard.participate import account_log  # noqa: F401
        from leaderboard.vault import custom_metrics

        custom_metrics.register()


class HoldfastAdminConfig(AdminConfig):
    """Django's admin with our site."""

    default_site = "leaderboard.admin.site.HoldfastAdminSite"

    def ready(self) -> None:
        super().ready()
        # Ours come last: they take the place of what other packages register for the same models.
        from leaderboard.admin import registry  # noqa: F401


class HoldfastStaticFilesConfig(StaticFilesConfig):
    """Static files without what no page asks for."""

    # The browsable API, which is not served, would bring as many files as everything else.
    ignore_patterns = [*StaticFilesConfig.ignore_patterns, "rest_framework"]
