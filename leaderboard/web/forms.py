"""Forms of the pages. They check shape only; the pipeline decides and its refusals are shown."""

from collections.abc import Mapping
from typing import Any

from allauth.account import forms as account_forms
from django import forms
from django.conf import settings

from leaderboard.models import Scope, Status, User
from leaderboard.organize.people import may_organize_at_all
from leaderboard.participate.membership import TEAM_NAME_LENGTH
from leaderboard.participate.notes import NOTE_LENGTH
from leaderboard.participate.tokens import NAME_LENGTH, USUAL
from leaderboard.queries.submissions import ORDERS


class SignupForm(account_forms.SignupForm):  # type: ignore[misc]  # allauth ships no types
    """A new account; passwords that differ are reported whatever else is wrong."""

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean()
        if "password2" not in self.errors and self["password1"].data != self["password2"].data:
            self.add_error("password2", "This is not the same password as above.")
        return cleaned


class DeleteAccountForm(forms.Form):
    """Asks for the account's name, so that nobody deletes one by a slip."""

    username = forms.CharField(
        label="Your user name, to confirm",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class AddEmailForm(account_forms.AddEmailForm):  # type: ignore[misc]  # allauth ships no types
    """One more address for an account.

    Where addresses need no confirmation, an unconfirmed one can become the account's own. Another
    account's is refused then, as it is at signing up.
    """

    def clean_email(self) -> str:
        email: str = super().clean_email()
        others = User.objects.filter(email__iexact=email).exclude(pk=self.user.pk)
        if settings.ACCOUNT_EMAIL_VERIFICATION != "mandatory" and others.exists():
            raise forms.ValidationError("Another account has this address.")
        return email


class AcceptRulesForm(forms.Form):
    """Joins a team by invitation."""

    accept_rules = forms.BooleanField(
        label="I have read the rules and accept them",
        error_messages={"required": "Accept the rules to join."},
    )


class JoinForm(AcceptRulesForm):
    """Joins a competition with a team of one's own; `alias` is the name that was given to it."""

    alias = ""
    team_name = forms.CharField(
        label="Team name",
        max_length=TEAM_NAME_LENGTH,
        help_text="Shown on the leaderboard. You can change it, and invite others, later.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("team_name", "accept_rules")


class JoinCodeForm(forms.Form):
    """Opens a competition by its join code."""

    code = forms.CharField(
        label="Join code",
        max_length=50,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false"}
        ),
        error_messages={"required": "Enter the code that you were given."},
    )


class TeamNameForm(forms.Form):
    """Renames a team."""

    team_name = forms.CharField(label="Team name", max_length=TEAM_NAME_LENGTH)


class NoteForm(forms.Form):
    """Edits a submission's message."""

    message = forms.CharField(
        label="Message",
        required=False,
        max_length=NOTE_LENGTH,
        help_text="A note for your team: which model, which settings. Besides your team only the "
        "organizers see it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SubmitForm(NoteForm):
    """Uploads a prediction file."""

    file = forms.FileField(
        label="Prediction file",
        allow_empty_file=True,
        error_messages={"required": "Choose the file with your predictions."},
    )
    field_order: tuple[str, ...] = ("file", "message")


class SubmissionsForm(forms.Form):
    """Searches a team's submissions, by an address; what makes no sense is left out."""

    q = forms.CharField(label="Search", required=False, max_length=100)
    status = forms.ChoiceField(
        label="Status", required=False, choices=[("", "All"), *Status.choices]
    )
    sort = forms.ChoiceField(
        label="Order", required=False, choices=[(name, text) for name, (text, _) in ORDERS.items()]
    )

    @property
    def asked(self) -> dict[str, str]:
        """Return what is asked for, without what goes without saying."""
        self.full_clean()
        return {name: value for name, value in self.cleaned_data.items() if value}


class SubmitWithClaimForm(SubmitForm):
    """Uploads a prediction file where the board checks what the team claims for it."""

    claimed_score = forms.FloatField(
        label="Expected score",
        help_text="For example from your own cross-validation. The board confirms or corrects it.",
        widget=forms.NumberInput(attrs={"step": "any", "autocomplete": "off"}),
        error_messages={"required": "Say which score you expect."},
    )
    field_order = ("file", "claimed_score", "message")


class TokenForm(forms.Form):
    """Makes an API token; who runs competitions may have one that does."""

    name = forms.CharField(
        label="Name",
        required=False,
        max_length=NAME_LENGTH,
        help_text="What you know it by: the machine or program that uses it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.TypedMultipleChoiceField(
        label="It may",
        coerce=Scope,
        initial=USUAL,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one: a token without any can do nothing."},
    )
    lifetime = forms.ChoiceField(
        label="Valid for",
        choices=[("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("never", "no end")],
        initial="90",
    )

    def __init__(self, user: User, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        offered = Scope if may_organize_at_all(user) else USUAL
        self.fields["scopes"].choices = [(each.value, each.label) for each in offered]  # type: ignore[attr-defined]  # of a choice field

    @property
    def days(self) -> int | None:
        """Return the chosen lifetime, None for no end."""
        chosen = self.cleaned_data["lifetime"]
        return None if chosen == "never" else int(chosen)
