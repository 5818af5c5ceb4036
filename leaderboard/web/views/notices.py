"""A person's inbox, which mails they get, and the end of mails."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard import queries
from leaderboard.access import signed_in
from leaderboard.models import Channel, Rhythm
from leaderboard.participate import notices
from leaderboard.queries.paging import list_page
from leaderboard.web.page import page_number
from leaderboard.web.posting import sent_from


@login_required
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """Show what the person was told of, the newest first."""
    user = signed_in(request)
    found = list_page(queries.inbox(user), page_number(request))
    context = {
        "list": found,
        "rows": queries.notice_rows(found.rows),
        "security": queries.security_rows(user) if found.page == 1 else [],
        "any_unread": bool(queries.count_unread(user)),
    }
    response = render(request, "pages/inbox.html", context)
    response["Cache-Control"] = "no-store"
    return response


@sent_from("inbox")
def read(request: HttpRequest) -> HttpResponse:
    """Mark a notice as read and lead to what it is about; or mark all of them."""
    user, uid = signed_in(request), request.POST.get("open")
    if uid is None:
        notices.mark_read(user)
        return redirect("inbox")
    (row,) = queries.notice_rows([get_object_or_404(queries.inbox(user), uid=uid)])
    notices.mark_read(user, [row.uid])
    return redirect(row.text.path)


@sent_from("account")
def change_mails(request: HttpRequest) -> HttpResponse:
    """Take which mails the person wants, and when."""
    user, wanted = signed_in(request), set(request.POST.getlist("wanted"))
    before = queries.mail_settings(user)
    for choice in before.kinds + before.ended:
        is_wanted = choice.name in wanted
        if is_wanted != choice.is_wanted:
            about = (user, choice.competition, choice.kind, Channel.MAIL)
            notices.set_preference(*about, is_wanted=is_wanted)
    rhythm = request.POST.get("rhythm", "")
    if rhythm in Rhythm.values and rhythm != before.rhythm:
        notices.set_rhythm(user, Rhythm(rhythm))
    if "again" in request.POST:
        notices.forget_refusal(user)
    messages.success(request, "Saved.")
    return redirect(reverse("account") + "#mails")


@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
def unsubscribe(request: HttpRequest, signed: str) -> HttpResponse:
    """End mails of a kind; by one click of a mail program (RFC 8058), or of a person.

    Who only looks, as scanners of links do, is asked. The link is enough: nobody signs in.
    """
    found = notices.read_link(signed)
    if found is None:
        raise Http404("This link is none of ours.")
    if request.method == "POST":
        notices.unsubscribe(found)
    context = {"found": found, "done": request.method == "POST"}
    return render(request, "pages/unsubscribe.html", context)
