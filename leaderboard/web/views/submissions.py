"""Uploading a prediction file and following it until the mechanism has answered."""

from collections.abc import Collection
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import signed_in, submission_or_404
from leaderboard.errors import Refused
from leaderboard.log.receipts import receipt_of
from leaderboard.models import Submission, Team
from leaderboard.participate.notes import edit_note
from leaderboard.pipeline import claims, intake
from leaderboard.platform.forms import attempt, blame
from leaderboard.platform.outages import headers, problem_response
from leaderboard.platform.ranges import stored_response
from leaderboard.platform.throttles import check_compare, check_upload
from leaderboard.platform.uploads import head_arrived
from leaderboard.queries.paging import list_page
from leaderboard.queries.people import left_out, sanction_of
from leaderboard.web import board
from leaderboard.web.drawing import ranking
from leaderboard.web.forms import NoteForm, SubmissionsForm, SubmitForm, SubmitWithClaimForm
from leaderboard.web.page import Page, load, page_number
from leaderboard.web.posting import sent_from, shows_refusals
from leaderboard.web.progress import stages
from leaderboard.words import entered, summary

_NEIGHBOURS = 2  # rows of the board above and below one's own


@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Show the form that takes a prediction file, and what it is to look like."""
    page = load(request, slug, "submit")
    if request.method == "POST":
        return _take(request, page)
    return _submit_page(request, page, _form(page)())


@login_required
@require_safe
@shows_refusals
def check_facts(request: HttpRequest, slug: str) -> HttpResponse:
    """Give the browser what it checks a chosen file by."""
    page = load(request, slug, "submit")
    if page.team is None:
        raise Refused("not_a_member")
    facts = queries.check_facts(page.round, page.team)
    if sample := facts["sample"]:
        sample["url"] = reverse("data-file", args=[slug, sample["name"]])
    return JsonResponse(facts, headers={"Cache-Control": "no-store"})


@login_required
@require_safe
def submissions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the files of the person's team that the address asks for, a page at a time."""
    page = load(request, slug, "submissions")
    if page.team is None:
        return render(request, "pages/not_joined.html", {"page": page}, status=403)
    return submissions_page(request, page, page.team)


@login_required
@require_safe
@shows_refusals
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how far two files of the person's team differ."""
    page = load(request, slug, "submissions")
    if page.team is None:
        raise Refused("not_a_member")
    numbers = [_number(request, name) for name in "ab"]
    found = [submission_or_404(page.team, number) for number in numbers]
    check_compare(request)
    context = {
        "page": page,
        "numbers": numbers,
        "schema": queries.schema_of(found[0].round),
        "compared": queries.compare(*found),
    }
    return render(request, "pages/compare.html", context)


def _number(request: HttpRequest, name: str) -> int:
    text = request.GET.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise Refused("invalid", field=name, variant="not_a_number")
    return int(text)


@login_required
@require_safe
def submission(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show one file: how far it has come, and what was released."""
    page = load(request, slug, "submissions")
    return _submission_page(request, page, submission_or_404(page.team, number))


@sent_from("submission", "slug", "number")
def note(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Replace the message of a file of the person's team."""
    page = load(request, slug, "submissions")
    found = submission_or_404(page.team, number)
    form, user = NoteForm(request.POST), signed_in(request)
    status = attempt(
        form,
        lambda: edit_note(submission=found, user=user, text=form.cleaned_data["message"]),
    )
    if status:
        return _submission_page(request, page, found, form, status)
    messages.success(request, "The message is saved.")
    return redirect("submission", slug, number)


@login_required
@require_safe
def submission_file(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """Send a file of the person's team back as it was uploaded."""
    page = load(request, slug, "submissions")
    found = submission_or_404(page.team, number)
    return stored_response(
        dict(request.headers),
        found.file,
        name=found.file_name,
        size=found.size,
        sha256=found.sha256,
    )


def _submission_page(
    request: HttpRequest,
    page: Page,
    found: Submission,
    note: NoteForm | None = None,
    status: int = 200,
) -> HttpResponse:
    choice, number = queries.choice(found.team), found.number
    context = _progress(request, page, found) | {
        "note": note or NoteForm({"message": found.message}),
        "choice": choice,
        "chosen": entered(choice),
        "final": queries.final_entries(found.team).get(number),
        "left_out": left_out(found.team).get(number),
    }
    return render(request, "pages/submission.html", context, status=status)


@login_required
@require_safe
@shows_refusals
def receipt(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Send the signed receipt of one's own submission, to keep."""
    page = load(request, slug, "submissions")
    text = receipt_of(submission_or_404(page.team, number))
    if text is None:
        raise Http404("There is no receipt of this submission.")
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    name = f"{slug}-{number}-receipt.txt"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@login_required
@require_safe
def submission_status(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show the part of that page that changes while the file is being scored."""
    page = load(request, slug, "submissions")
    found = submission_or_404(page.team, number)
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
    """Show a page of the list, and the choice of final entries; or what was ticked, and why it is
    refused."""
    finals, choice, reasons = queries.final_entries(team), queries.choice(team), left_out(team)
    form, names = SubmissionsForm(request.GET), queries.campaign_names(team)
    form.offer(names)
    asked = form.asked
    found = list_page(
        queries.own_submissions(
            team,
            search=asked.get("q", "").strip(),
            status=asked.get("status", ""),
            campaign=asked.get("campaign", ""),
            order=asked.get("sort", "newest"),
        ),
        page_number(request),
    )
    rows = [
        (row, summary(row), finals.get(row.number), reasons.get(row.number))
        for row in queries.rows_of(found.rows)
    ]
    ticks = list(ticked if refused else choice.numbers)
    shown = {row.number for row, *_ in rows}
    context = {
        "page": page,
        "lists": [
            (title, part)
            for title, is_practice in (("", False), ("Practice: doesn’t count", True))
            if (part := [each for each in rows if each[0].is_practice is is_practice])
        ],
        "quota": queries.quota(team),
        "sanction": sanction_of(team),
        "choice": choice,
        "chosen": entered(choice),
        "ticked": ticks,
        # Those of other pages stay entered when this one is saved.
        "elsewhere": [number for number in ticks if number not in shown],
        "refused": refused,
        "found": found,
        "form": form,
        "has_campaigns": bool(names),
        "asked": asked,
        "kept": f"&{urlencode(asked)}" if asked else "",
        "history": board.own_history(page.board, team),
        "digits": queries.scale(page.board).decimals,
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
            arrived=head_arrived(request.META),
            campaign=form.cleaned_data["campaign"],
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
    names = queries.campaign_names(page.team, going_on=True) if page.team else []
    form.offer(names)
    context = {
        "page": page,
        "form": form,
        "has_campaigns": bool(names),
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
        "wait": queries.wait_of(request.user, found),
    }
    if row.released is not None and not row.is_practice:
        if page.sees_others:
            order = ranking(page.board, found.team)
            near, span = queries.near(order, found.team_id, _NEIGHBOURS), order.span
        else:
            own = queries.board_row(page.board, request.user)
            near, span = [own] if own else [], None
        mine = next((each for each in near if each.mine), None)
        context |= {"board": board.draw(page.board, span, near), "mine": mine}
    return context
