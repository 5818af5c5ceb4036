"""The tab "People": invitations, class list, who may join, organizers."""

import re
from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from leaderboard import access
from leaderboard.access import Right, may, signed_in
from leaderboard.models import Competition, Role
from leaderboard.organize import class_list, entry, invitations
from leaderboard.organize import people as roles
from leaderboard.platform.forms import attempt, problems_of
from leaderboard.queries import people as queries
from leaderboard.web.organize.frame import View, button, refusals, show, url_of
from leaderboard.web.page import page_number

_BETWEEN = re.compile(r"[\s,;\0]+")


class InviteForm(forms.Form):
    """Whom to invite."""

    people = forms.CharField(
        label="Mail addresses or user names",
        max_length=40_000,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text="Separated by spaces, commas or lines. Who has no account yet can make one with "
        "the link in the mail.",
    )


class ClassListForm(forms.Form):
    """A CSV file, and whether its people get mails."""

    file = forms.FileField(label="Class list", help_text="CSV in UTF-8, at most 10,000 people.")


class ApplyForm(forms.Form):
    """The file once more, as it was previewed."""

    text = forms.CharField(widget=forms.HiddenInput, strip=False)
    send = forms.BooleanField(
        label="Mail each of them a personal link", required=False, initial=True
    )


class DomainsForm(forms.Form):
    """Domains of mail addresses, as they are typed."""

    domains = forms.CharField(
        label="Domains of mail addresses",
        required=False,
        max_length=30_000,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
        help_text="For example uni.example and student.uni.example, separated by spaces or lines. "
        "Empty: every address will do.",
    )


class OrganizerForm(forms.Form):
    """An account, and what it may do."""

    account = forms.CharField(
        label="User name or mail address",
        max_length=254,
        help_text="Of an account with the organizer's role, which an operator of this site grants. "
        "A mail address has to be confirmed.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label="Role", choices=Role.choices, initial=Role.EDITOR)


class RoleForm(forms.Form):
    """Another role."""

    role = forms.ChoiceField(choices=Role.choices)


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show who is invited; invite more people."""
    form = InviteForm(request.POST or None)
    if form.is_valid():
        with refusals(form):
            given = _BETWEEN.split(form.cleaned_data["people"])
            done = invitations.invite(competition, given, by=signed_in(request))
            messages.success(request, _told(competition, done))
            return redirect(url_of(competition, "people"))
    user, search = signed_in(request), request.GET.get("q", "").replace("\0", "")[:100]
    listed = queries.people(competition, user, page=page_number(request), search=search)
    return _show(request, competition, "people", {"form": form, "listed": listed})


def class_list_page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Take a class list: show what it would add, with every problem; then add it."""
    user, context = signed_in(request), dict[str, Any]()
    is_applied = "text" in request.POST
    form = ClassListForm(None if is_applied else request.POST or None, request.FILES or None)
    apply_form = ApplyForm(request.POST) if is_applied else None
    with refusals(apply_form or form):
        if apply_form is not None and apply_form.is_valid():
            content = apply_form.cleaned_data["text"].encode()
            context["preview"] = class_list.check_class_list(competition, content, by=user)
            send = apply_form.cleaned_data["send"]
            done = class_list.apply_class_list(competition, content, by=user, send=send)
            count = len(done.new)
            people = "1 person is" if count == 1 else f"{count:,} people are"
            messages.success(request, f"{people} on the list now.{_when(competition, send)}")
            return redirect(url_of(competition, "people"))
        if apply_form is None and form.is_valid():
            content = form.cleaned_data["file"].read(class_list.MOST_BYTES + 1)
            preview = class_list.check_class_list(competition, content, by=user)
            context["preview"] = preview
            if not preview.problems:
                text = content.decode("utf-8-sig")
                apply_form = ApplyForm(initial={"text": text, "send": True})
    is_wrong = "preview" in context and context["preview"].problems
    context |= {"form": form, "apply_form": None if is_wrong else apply_form}
    return _show(request, competition, "people_class_list", context)


def joining(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show who may join: the join code, and the domains of addresses; change these."""
    now = "\n".join(queries.mail_domains(competition))
    form = DomainsForm(request.POST or None, initial={"domains": now})
    if form.is_valid():
        with refusals(form):
            domains = _BETWEEN.split(form.cleaned_data["domains"])
            entry.change_mail_domains(competition, domains, by=signed_in(request))
            messages.success(request, "Saved.")
            return redirect(url_of(competition, "people-joining"))
    address = request.build_absolute_uri(reverse("join", args=[competition.slug]))
    return _show(request, competition, "people_joining", {"form": form, "address": address})


def organizers(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show who runs the competition; let others run it as well."""
    form = OrganizerForm(request.POST or None)
    if form.is_valid():
        with refusals(form):
            account = roles.find_account(form.cleaned_data["account"])
            roles.add_organizer(
                competition, account, form.cleaned_data["role"], by=signed_in(request)
            )
            messages.success(request, f"{account.username} runs it with you now.")
            return redirect(url_of(competition, "people-organizers"))
    context = {"form": form, "organizers": queries.organizers(competition), "roles": Role.choices}
    return _show(request, competition, "people_organizers", context)


def change_role(request: HttpRequest, competition: Competition, uid: str) -> HttpResponse:
    """Give an organizer another role."""
    user = access.organizer_or_404(competition, uid)
    if request.method == "POST":
        form = RoleForm(request.POST)
        attempt(
            form,
            lambda: roles.add_organizer(
                competition, user, form.cleaned_data["role"], by=signed_in(request)
            ),
        )
        for problem in problems_of(form):
            messages.warning(request, problem)
        if not form.errors:
            messages.success(request, "The role is changed.")
    return redirect(url_of(competition, "people-organizers"))


def _button_of_one(
    page: str, act: Callable[[HttpRequest, Competition, str], object], *, told: str
) -> View:
    """Make the view behind a button beside somebody, whom the address names."""

    def view(request: HttpRequest, competition: Competition, uid: str) -> HttpResponseBase:
        pressed = button(page, lambda request, _: act(request, competition, uid), told=told)
        return pressed(request, competition)

    return view


remove_organizer = _button_of_one(
    "people-organizers",
    lambda request, competition, uid: roles.remove_organizer(
        competition, access.organizer_or_404(competition, uid), by=signed_in(request)
    ),
    told="The organizer is removed.",
)
renew_code = button(
    "people-joining",
    lambda request, competition: entry.renew_join_code(competition, by=signed_in(request)),
    told="There is a new join code.",
)
switch_off_code = button(
    "people-joining",
    lambda request, competition: entry.switch_off_join_code(competition, by=signed_in(request)),
    told="The join code is switched off.",
)
send_again = _button_of_one(
    "people",
    lambda request, competition, uid: invitations.send_again(
        access.listed_or_404(competition, uid), by=signed_in(request)
    ),
    told="The mail is on its way.",
)
withdraw = _button_of_one(
    "people",
    lambda request, competition, uid: invitations.withdraw(
        access.listed_or_404(competition, uid), by=signed_in(request)
    ),
    told="The invitation is withdrawn.",
)
withdraw_account = _button_of_one(
    "people",
    lambda request, competition, uid: invitations.withdraw_account(
        competition, access.invited_or_404(competition, uid), by=signed_in(request)
    ),
    told="The invitation is withdrawn.",
)


def _show(
    request: HttpRequest, competition: Competition, page: str, context: dict[str, Any]
) -> HttpResponse:
    user = signed_in(request)
    rights = {
        "may_judge": may(user, competition, Right.JUDGE),
        "may_own": may(user, competition, Right.OWN),
    }
    return show(request, competition, page, rights | context)


def _told(competition: Competition, done: invitations.Invited) -> str:
    known = f" {done.known} had been before." if done.known else ""
    count = done.by_mail + done.by_account
    people = "1 person is" if count == 1 else f"{count} people are"
    return f"{people} invited.{known}{_when(competition, done.by_mail > 0)}"


def _when(competition: Competition, send: bool) -> str:
    if not send:
        return ""
    if competition.opened_by_organizer_at is None:
        return " The mails leave when the competition opens."
    return " The mails are on their way."
