"""Uploading a prediction file and following it until the mechanism has answered."""

from collections.abc import Collection

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import signed_in, submission_or_404
from leaderboard.errors import Refused
from leaderboard.models import Submission, Team
from leaderboard.pipeline import claims, intake
from leaderboard.platform.forms import blame
from leaderboard.platform.outages import headers, problem_response
from leaderboard.platform.throttles import check_upload
from leaderboard.queries.people import left_out, sanction_of
from leaderboard.web import board
from leaderboard.web.forms import SubmitForm, SubmitWithClaimForm
from leaderboard.web.page import Page, load
from leaderboard.web.posting import shows_refusals
from leaderboard.web.progress import stages
from leaderboard.words import entered, summary


@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show the form that takes a prediction file, and what it is to look like."""
    page = load(request, slug, "submit")
    if request.method == "POST":
        return _take(request, page)
    return _submit_page(request, page, _form(page)())


@login_required
@require_safe
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show all files of the person's team, newest first."""
    page = load(request, slug, "submissions")
    if page.team is None:
        return render(request, "pages/not_joined.html", {"page": page}, status=403)
    return submissions_page(request, page, page.team)


@login_required
@require_safe
def submission(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show one file: how far it has come, and what was released."""
    page = load(request, slug, "submissions")
    found = submission_or_404(request.user, page.competition, number)
    choice = queries.choice(found.team)
    context = _progress(request, page, found) | {
        "choice": choice,
        "chosen": entered(choice),
        "final": queries.final_entries(found.team).get(number),
        "left_out": left_out(found.team).get(number),
    }
    return render(request, "pages/submission.html", context)


@login_required
@require_safe
def submission_status(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the part of that page that changes while the file is being scored."""
    page = load(request, slug, "submissions")
    found = submission_or_404(request.user, page.competition, number)
    response = render(request, "partials/submission_status.html", _progress(request, page, found))
    response["Cache-Control"] = "no-store"
    return response


def submissions_page(
    request: HttpRequest,
    page: Page,
    team: Team,
    refused: Refused | None = None,
    ticked: Collection[int] = (),
) -> HttpResponse:
    """Show the list, and the choice of final entries; or what was ticked, and why it is refused."""
    finals, choice, reasons = queries.final_entries(team), queries.choice(team), left_out(team)
    rows = [
        (row, summary(row), finals.get(row.number), reasons.get(row.number))
        for row in queries.submission_rows(team)
    ]
    context = {
        "page": page,
        "lists": [
            (title, found)
            for title, is_practice in (("", False), ("Practice: doesn’t count", True))
            if (found := [each for each in rows if each[0].is_practice is is_practice])
        ],
        "quota": queries.quota(team),
        "sanction": sanction_of(team),
        "choice": choice,
        "chosen": entered(choice),
        "ticked": ticked if refused else choice.numbers,
        "refused": refused,
    }
    status = refused.status if refused else 200
    return render(request, "pages/submissions.html", context, status=status)


@login_required
@shows_refusals
def _take(request: HttpRequest, page: Page) -> HttpResponse:
    if page.team is None:
        raise Refused("not_a_member")
    form = _form(page)(request.POST, request.FILES)
    if not form.is_valid():
        return _not_taken(request, page, form, _invalid(form))
    try:
        check_upload(request)
        taken = intake.submit(
            team=page.team,
            user=signed_in(request),
            upload=form.cleaned_data["file"],
            message=form.cleaned_data["message"],
            claimed=form.cleaned_data.get("claimed_score"),
        )
    except Refused as refused:
        blame(form, refused)
        return _not_taken(request, page, form, refused)
    url = reverse("submission", args=[page.competition.slug, taken.number])
    return JsonResponse({"url": url}, status=201) if _wants_json(request) else redirect(url)


def _form(page: Page) -> type[SubmitForm]:
    return SubmitWithClaimForm if claims.are_asked_for(page.board.round) else SubmitForm


def _invalid(form: SubmitForm) -> Refused:
    name, errors = next(iter(form.errors.items()))
    return Refused("invalid", field=name, message=errors[0])


def _not_taken(
    request: HttpRequest, page: Page, form: SubmitForm, refused: Refused
) -> HttpResponse:
    if _wants_json(request):
        return problem_response(refused)
    response = _submit_page(request, page, form, status=refused.status)
    for name, value in headers(refused).items():
        response[name] = value
    return response


def _wants_json(request: HttpRequest) -> bool:
    """Return whether the upload script asks; a plain form gets pages."""
    return request.headers.get("Accept") == "application/json"


def _submit_page(
    request: HttpRequest, page: Page, form: SubmitForm, status: int = 200
) -> HttpResponse:
    context = {
        "page": page,
        "form": form,
        "expected": queries.expected_file(page.round),
        "schema": queries.schema_of(page.round),
        "quota": queries.quota(page.team) if page.team else None,
        "max_bytes": min(page.round.max_file_bytes, settings.MAX_UPLOAD_BYTES),
        "site_url": settings.SITE_URL,
    }
    return render(request, "pages/submit.html", context, status=status)


def _progress(request: HttpRequest, page: Page, found: Submission) -> dict[str, object]:
    row = queries.submission_row(found)
    context: dict[str, object] = {
        "page": page,
        "row": row,
        "stages": stages(row),
        "summary": summary(row),
    }
    if row.released is not None and not row.is_practice:
        rows = queries.board(page.board, request.user)
        if rows.my_page not in (None, rows.page):
            rows = queries.board(page.board, request.user, page=rows.my_page)
        near = board.around(rows)
        context |= {"board": board.draw(page.board, rows, near), "mine": rows.my_row}
    return context
