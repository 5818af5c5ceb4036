"""Addresses of the console."""

from django.urls import URLPattern, path

from leaderboard.web.organize import (
    audit,
    budget,
    columns,
    files,
    finals,
    home,
    opening,
    publication,
    revision,
    run,
    scoring,
    settings,
    solution,
    submissions,
    teams,
)
from leaderboard.web.organize.frame import View, console, organizers_only


def _part(address: str, view: View, name: str) -> URLPattern:
    """Return the address of a page of one competition."""
    return path(f"<slug:slug>/{address}", console(view), name=f"organize-{name}")


urlpatterns = [
    path("", home.home, name="organize"),
    path("new/", organizers_only(settings.new_page), name="organize-new"),
    path("new/preview/", home.preview, name="organize-preview"),
    _part("", run.page, "run"),
    _part("open/", opening.open_now, "open"),
    _part("draft/", opening.back_to_draft, "draft"),
    _part("budget/", budget.page, "budget"),
    _part("submissions/", submissions.page, "submissions"),
    _part("submissions/requeue/", submissions.requeue_all, "requeue-all"),
    _part("submissions/<int:submission_id>/", submissions.one, "submission"),
    _part("submissions/<int:submission_id>/requeue/", submissions.requeue, "requeue"),
    _part("teams/", teams.page, "teams"),
    _part("teams/<str:uid>/", teams.one, "team"),
    _part("settings/", settings.page, "settings"),
    _part("settings/delete/", settings.delete, "delete"),
    _part("data/columns/", columns.page, "columns"),
    _part("data/files/", files.page, "files"),
    _part("data/files/<int:file_id>/remove/", files.remove, "file-remove"),
    _part("data/scoring/", scoring.page, "scoring"),
    _part("data/scoring/proposal/", scoring.use_proposal, "scoring-proposal"),
    _part("data/solution/", solution.page, "solution"),
    _part("data/solution/revision/", revision.page, "revision"),
    _part("data/solution/withdraw/", solution.withdraw, "solution-withdraw"),
    _part("finals/", finals.page, "finals"),
    _part("finals/close/", finals.close, "finals-close"),
    _part("finals/start/", finals.start, "finals-start"),
    _part("finals/reveal/", finals.reveal, "finals-reveal"),
    _part("finals/final.csv", finals.csv, "finals-csv"),
    _part("finals/publication/", publication.page, "publication"),
    _part("audit/", audit.page, "audit"),
    _part("audit.csv", audit.csv, "audit-csv"),
]
