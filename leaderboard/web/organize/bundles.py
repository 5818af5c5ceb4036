"""Competitions as files: a new one from a bundle, and export, clone, archive and move."""

from collections.abc import Callable
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

from django import forms
from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from bundles.templates import TEMPLATES
from leaderboard.access import Right, may, signed_in
from leaderboard.errors import Refused
from leaderboard.models import Competition, User
from leaderboard.operate import archives
from leaderboard.organize import bundles
from leaderboard.organize.bundles import waiting
from leaderboard.organize.moves import check_may_move, move, own_key
from leaderboard.web.organize.confirmed import ConfirmedForm
from leaderboard.web.organize.frame import refusals, show, url_of
from leaderboard.web.organize.solution import in_memory

_SLUG_HELP = "Letters, digits and hyphens: the address is /c/short-name/."


class BundleForm(forms.Form):
    """A bundle or an archive, as a zip file."""

    bundle = forms.FileField(label="Zip file")


class PlanForm(forms.Form):
    """What a bundle that waits becomes."""

    token = forms.CharField(widget=forms.HiddenInput, max_length=200)
    slug = forms.SlugField(label="Short name", max_length=60, help_text=_SLUG_HELP)
    sure = forms.BooleanField(
        label="The public files hold no hidden labels: publish them",
        required=False,
        widget=forms.HiddenInput,
    )


class CloneForm(forms.Form):
    """The short name of the clone."""

    slug = forms.SlugField(label="Short name of the clone", max_length=60, help_text=_SLUG_HELP)


class MoveForm(ConfirmedForm):
    """Where a competition goes."""

    destination = forms.CharField(
        label="Public key of the other installation’s vault",
        max_length=100,
        help_text="64 digits. Its page “From a bundle” shows it.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("destination", "slug")


@in_memory
def new_page(request: HttpRequest) -> HttpResponse:
    """Take a bundle and show what becomes of it, or make the draft of one that was shown."""
    user = signed_in(request)
    if "token" in request.POST:
        return _make(request, user)
    form = BundleForm(request.POST or None, request.FILES or None)
    context = {"form": form, "templates": TEMPLATES, "own_key": own_key()}
    if form.is_valid():
        file = form.cleaned_data["bundle"]
        with refusals(form):
            if _is_archive(file):
                competition = archives.import_archive(file, by=user)
                messages.success(request, f"{competition.title} is imported, with its ledger.")
                return redirect(url_of(competition, "run"))
            plan = bundles.plan_bundle(file, by=user)
            file.seek(0)
            token = waiting.keep(file.read(), by=user)
            chosen = PlanForm(initial={"token": token, "slug": plan.slug})
            return render(request, "organize/bundle_plan.html", {"form": chosen, "plan": plan})
    return render(request, "organize/bundle_new.html", context)


def _make(request: HttpRequest, user: User) -> HttpResponse:
    form, plan = PlanForm(request.POST), None
    if form.is_valid():
        token, slug = form.cleaned_data["token"], form.cleaned_data["slug"]
        with refusals(form):
            content = waiting.take(token, by=user)
            plan = bundles.plan_bundle(content, by=user, slug=slug)
            made = bundles.import_bundle(
                content, by=user, slug=slug, sure=form.cleaned_data["sure"]
            )
            waiting.forget(token)
            messages.success(request, "Saved as a draft that only you can see.")
            return redirect(url_of(made, "run"))
    form.fields["sure"].widget = forms.CheckboxInput()
    return render(request, "organize/bundle_plan.html", {"form": form, "plan": plan})


def new_template(request: HttpRequest) -> HttpResponse:
    """Make a draft of a bundle that comes with Holdfast."""
    if request.method == "POST":
        try:
            made = bundles.import_template(request.POST.get("name", ""), by=signed_in(request))
        except Refused as refused:
            messages.warning(request, str(refused))
        else:
            messages.success(request, "Saved as a draft that only you can see.")
            return redirect(url_of(made, "settings"))
    return redirect("organize-new-bundle")


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what can be taken along, and make a clone."""
    user = signed_in(request)
    form = CloneForm(request.POST or None, initial={"slug": f"{competition.slug}-2"})
    if form.is_valid():
        with refusals(form):
            made = bundles.clone(competition, slug=form.cleaned_data["slug"], by=user)
            messages.success(request, "The clone is a draft: upload its solution.")
            return redirect(url_of(made, "run"))
    context = {
        "form": form,
        "may_edit": may(user, competition, Right.EDIT),
        "may_own": may(user, competition, Right.OWN),
        "has_ledger": competition.opened_by_organizer_at is not None
        and competition.ledgers.exists(),
    }
    return show(request, competition, "copies", context)


def export_bundle(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Send the bundle."""
    user = signed_in(request)
    return _send(
        request, competition, lambda: bundles.export(competition, by=user), f"{competition.slug}"
    )


def export_archive(request: HttpRequest, competition: Competition) -> HttpResponseBase:
    """Send the archive."""
    user, with_people = signed_in(request), "with_people" in request.POST
    return _send(
        request,
        competition,
        lambda: archives.export_archive(competition, by=user, with_people=with_people),
        f"{competition.slug}-archive",
    )


def move_page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Ask where it goes, and close its ledgers here."""
    user = signed_in(request)
    form = MoveForm(competition, request.POST or None)
    if form.is_valid():
        with refusals(form):
            move(competition, form.cleaned_data["destination"], by=user)
            told = "Its ledger is closed here. Workers are sealing the secrets."
            messages.success(request, told)
            return redirect(url_of(competition, "move"))
    missing = ""
    try:
        check_may_move(competition)
    except Refused as refused:
        missing = str(refused)
    context = {
        "form": form,
        "missing": missing,
        "handover": competition.handovers.first(),
        "may_own": may(user, competition, Right.OWN),
    }
    return show(request, competition, "move", context)


def _send(
    request: HttpRequest, competition: Competition, write: Callable[[], IO[bytes]], name: str
) -> HttpResponseBase:
    """Send a file that is written now; who only looks is led to the button."""
    if request.method == "POST":
        try:
            return FileResponse(write(), as_attachment=True, filename=f"{name}.zip")
        except Refused as refused:
            messages.warning(request, str(refused))
    return redirect(url_of(competition, "copies"))


def _is_archive(file: Any) -> bool:
    """Return whether a zip file holds a competition with its ledger."""
    try:
        with ZipFile(file) as opened:
            names = opened.namelist()
    except (BadZipFile, ValueError, OSError, NotImplementedError):
        names = []
    file.seek(0)
    return archives.MANIFEST in names
