"""A new competition from dropped files, on one page; and where its public files arrive."""

from datetime import timedelta
from functools import wraps
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.validators import MaxValueValidator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_POST

from leaderboard.access import signed_in
from leaderboard.errors import PROBLEM_TYPE, Refused
from leaderboard.organize.quick import LASTS, SUBMISSIONS, TEAMS, create_from_files, name_roles
from leaderboard.organize.staging import find_staged, stage
from leaderboard.platform.forms import blame
from leaderboard.platform.uploads import InMemoryOnly
from leaderboard.web.organize.frame import View, organizers_only, url_of
from leaderboard.web.organize.settings import MomentField

_LARGEST: Final = 1_000_000
ROLES: Final = {
    "train": ("Training data", "With the labels, to learn from. Participants download it."),
    "test": ("Test data", "The rows to predict, without labels. Participants download it."),
    "solution": ("Solution", "The ids of the test data with their true labels. It is sealed."),
    "sample": ("Sample submission", "Is made from the test data if you have none."),
}


class _Files(forms.FileField):
    """Any number of files from one control; cleaned to a list."""

    widget = type("_Many", (forms.FileInput,), {"allow_multiple_selected": True})()

    def clean(self, data: Any, initial: Any = None) -> list[Any]:
        given = data if isinstance(data, list | tuple) else [data] if data else []
        clean = super().clean
        return [clean(each, initial) for each in given]


class NewForm(forms.Form):
    """Files, together or one by one, and the little that they don't say.

    `staged` has the ids of public files that were sent before.
    """

    files: Any = _Files(
        label="Files",
        required=False,
        help_text="Drop <code>train.csv</code>, <code>test.csv</code>, <code>solution.csv</code>, "
        "and <code>sample_submission.csv</code> if you have one.",
    )
    staged = forms.CharField(required=False, widget=forms.HiddenInput)
    title = forms.CharField(label="Title", max_length=120)
    teams = forms.IntegerField(label="Teams", min_value=1, initial=TEAMS, help_text="At most.")
    submissions = forms.IntegerField(
        label="Submissions each",
        min_value=1,
        initial=SUBMISSIONS,
        help_text="In all. Fewer keep the guarantee narrow.",
    )
    closes_at = MomentField(label="Closes (UTC)")

    def __init__(self, data: Any = None, files: Any = None) -> None:
        super().__init__(data, files)
        for role, (label, about) in ROLES.items():
            self.fields[role] = forms.FileField(label=label, required=False, help_text=about)
        for name in ("teams", "submissions"):
            self.fields[name].validators.append(MaxValueValidator(_LARGEST))
        # The default ends with a day.
        end = (timezone.now() + LASTS + timedelta(days=1)).replace(hour=0, minute=0)
        self.initial["closes_at"] = end.replace(second=0, microsecond=0)

    @property
    def single_fields(self) -> list[forms.BoundField]:
        return [self[role] for role in ROLES]

    @property
    def settings_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in ("title", "teams", "submissions", "closes_at")]


def in_memory(view: View) -> View:
    """Let a view without a competition take uploads into memory only: see `solution.in_memory`."""

    @csrf_exempt
    @wraps(view)
    def wrapper(request: HttpRequest) -> HttpResponseBase:
        request.upload_handlers = [InMemoryOnly(request)]
        return csrf_protect(view)(request)

    return wrapper


def page(request: HttpRequest) -> HttpResponse:
    """Show the form, or make a draft from the files."""
    form = NewForm(request.POST or None, request.FILES or None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                competition = _create(request, form)
            except Refused as refused:
                blame(form, refused)
            else:
                messages.success(request, "Saved as a draft that only you can see.")
                url = url_of(competition, "proposal")
                return (
                    JsonResponse({"url": url}, status=201) if _asks_json(request) else redirect(url)
                )
        if _asks_json(request):
            return JsonResponse(_problem(form), status=status, content_type=PROBLEM_TYPE)
    context = {"form": form, "max_bytes": settings.MAX_UPLOAD_BYTES}
    context["max_data_bytes"] = settings.MAX_DATA_BYTES
    return render(request, "organize/new.html", context, status=status)


new_page = organizers_only(in_memory(page))


@require_POST
@organizers_only
def take_file(request: HttpRequest) -> HttpResponseBase:
    """Keep a public file for the form that comes after it."""
    file = request.FILES.get("file")
    try:
        if file is None:
            raise Refused("invalid", field="file", variant="no_file_name")
        staged = stage(file, by=signed_in(request))
    except Refused as refused:
        return JsonResponse(refused.problem(), status=refused.status, content_type=PROBLEM_TYPE)
    return JsonResponse({"id": staged.uid, "name": staged.name, "size": staged.size}, status=201)


def _create(request: HttpRequest, form: NewForm) -> Any:
    user, data = signed_in(request), form.cleaned_data
    files: dict[str, Any] = {role: data[role] for role in ROLES if data[role]}
    # Each is an id, or an id and a role that was chosen for it.
    roles = dict(each.partition(":")[::2] for each in data["staged"].split())
    staged = find_staged(user, roles)
    if missing := roles.keys() - staged.keys():
        raise Refused("invalid", field="files", variant="staged_gone", count=len(missing))
    files |= {role: staged[uid] for uid, role in roles.items() if role in ROLES}
    unnamed = (each for uid, each in staged.items() if roles[uid] not in ROLES)
    dropped = {each.name: each for each in (*data["files"], *unnamed)}
    for name, role in name_roles(dropped).items():
        if role in files:
            raise Refused("invalid", field=role, variant="role_twice", name=name)
        files[role] = dropped[name]
    if not files:
        raise Refused("invalid", field="files", variant="no_files")
    given = {name: data[name] for name in ("title", "teams", "submissions", "closes_at")}
    return create_from_files(by=user, files=files, **given)


def _asks_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "").startswith("application/json")


def _problem(form: NewForm) -> dict[str, Any]:
    errors = [
        {"field": name, "message": message}
        for name, messages in form.errors.items()
        for message in messages
    ]
    return {"detail": errors[0]["message"], "errors": errors}
