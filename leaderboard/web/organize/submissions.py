"""The tab "Submissions": what was sent, what became of it, and what failed queued again."""

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard.access import Right, may, signed_in, submission_of_or_404
from leaderboard.errors import Refused
from leaderboard.models import Competition, Status, Submission
from leaderboard.pipeline.queue import requeue_failed
from leaderboard.queries import submission_row
from leaderboard.queries.organized import organized_submissions
from leaderboard.queries.people import left_out
from leaderboard.web.organize.frame import show, url_of
from leaderboard.web.page import page_number
from leaderboard.words import summary


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List submissions, narrowed by status and by a part of the team's name."""
    status, search = request.GET.get("status", ""), request.GET.get("team", "").strip()[:60]
    status = status if status in Status.values else ""
    found = organized_submissions(
        competition, status=status, search=search, page=page_number(request)
    )
    failed = organized_submissions(competition, status=Status.FAILED).total
    context = {
        "found": found,
        "summaries": [(each, summary(each.row)) for each in found.rows],
        "status": status,
        "statuses": Status.choices,
        "search": search,
        "kept": f"&status={status}" if status else "",
        "failed": failed,
    }
    return show(request, competition, "submissions", context)


def one(request: HttpRequest, competition: Competition, *, submission_id: int) -> HttpResponse:
    """Show a submission as its team sees it, and why it failed where it did."""
    submission = submission_of_or_404(competition, submission_id)
    row = submission_row(submission)
    context = {
        "submission": submission,
        "row": row,
        "summary": summary(row),
        "left_out": left_out(submission.team).get(row.number),
        "may_judge": may(signed_in(request), competition, Right.JUDGE),
    }
    return show(request, competition, "submission", context)


def requeue(request: HttpRequest, competition: Competition, *, submission_id: int) -> HttpResponse:
    """Put a failed submission on the queue again."""
    submission = submission_of_or_404(competition, submission_id)
    _requeue(request, Submission.objects.filter(pk=submission.pk))
    return redirect("organize-submission", competition.slug, submission.pk)


def requeue_all(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Put all failed submissions of the competition on the queue again."""
    _requeue(request, Submission.objects.filter(team__competition=competition))
    return redirect(url_of(competition, "submissions"))


def _requeue(request: HttpRequest, submissions: QuerySet[Submission]) -> None:
    if request.method != "POST":
        return
    try:
        again = requeue_failed(submissions, by=signed_in(request))
    except Refused as refused:
        messages.warning(request, str(refused))
        return
    noun = "submission is" if again == 1 else "submissions are"
    messages.success(request, f"{again} failed {noun} queued again.")
