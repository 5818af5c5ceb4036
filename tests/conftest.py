"""What every test shares."""

import os

import pytest
from django.conf import settings as site
from hypothesis import HealthCheck, settings

# The same examples in every run, so that a change that breaks nothing cannot fail by chance;
# HYPOTHESIS_PROFILE=explore searches further.
settings.register_profile(
    "repeatable",
    deadline=None,
    max_examples=60,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

pytest_plugins = ["tests.cast", "tests.once", "tests.scheduling"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests have counted."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{report.nodeid}: {value} {name}.")


@pytest.fixture(scope="session", autouse=True)
def static_root() -> None:
    """Make the place of collected static files: whitenoise warns where there is nothing."""
    site.STATIC_ROOT.mkdir(parents=True)
