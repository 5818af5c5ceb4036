"""What forms of every edge share."""

from collections.abc import Callable

from django import forms

from leaderboard.errors import Refused


def blame(form: forms.BaseForm, refused: Refused) -> None:
    """Show a refusal beside the fields that it names, or above the form if it names none."""
    told = refused.errors
    named = [each for each in told if each["field"] in form.fields]
    for each in named:
        form.add_error(each["field"], forms.ValidationError(each["message"], refused.code))
    if not named:
        form.add_error(None, [each["message"] for each in told] or refused.detail)


def attempt(form: forms.BaseForm, act: Callable[[], object]) -> int:
    """Do what a valid form asks for; return 0, or the status of the page that shows why not."""
    if not form.is_valid():
        return 422
    try:
        act()
    except Refused as refused:
        blame(form, refused)
        return refused.status
    return 0


def problems_of(form: forms.BaseForm) -> list[str]:
    """Return what is wrong with a form, for a page that doesn't show it."""
    found = form.errors.get_json_data().values()
    return [str(each["message"]) for errors in found for each in errors]
