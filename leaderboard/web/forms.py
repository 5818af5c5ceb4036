"""Forms of the pages. They check shape only; the pipeline decides and its refusals are shown."""

from collections.abc import Iterable, Mapping
from typing import Any

from allauth.account import forms as account_forms
from django import forms
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest

from leaderboard.models import Scope, Status, User
from leaderboard.organize.people import may_organize_at_all
from leaderboard.participate.membership import TEAM_NAME_LENGTH
from leaderboard.participate.notes import NOTE_LENGTH
from leaderboard.participate.tokens import NAME_LENGTH, USUAL, Binding
from leaderboard.queries import my_teams
from leaderboard.queries.submissions import ORDERS


class SignupForm(account_forms.SignupForm):  # type: ignore[misc]  # allauth ships no types
    """A new account; passwords that differ are reported whatever else is wrong.

    Where an account has the address already nobody learns it here, nor by the time this takes:
    most of that is for the password.
    """

    def try_save(self, request: HttpRequest) -> Any:
        if self.account_already_exists:
            make_password(self.cleaned_data["password1"])
        return super().try_save(request)

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


class InviteForm(forms.Form):
    """Mails an invitation to a team."""

    email = forms.EmailField(
        label="Mail address",
        error_messages={"required": "Give the address of the person you invite."},
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
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


class LimitForm(forms.Form):
    """Changes how many submissions a campaign may make."""

    limit = forms.IntegerField(
        label="Limit of submissions",
        required=False,
        help_text="How many it may make in all. Rejected and repeated files don’t count. Leave it "
        "empty for no limit.",
        widget=forms.NumberInput(attrs={"min": 1, "autocomplete": "off"}),
    )


class CampaignForm(LimitForm):
    """Begins a campaign."""

    name = forms.CharField(
        label="Name",
        max_length=100,
        help_text="For example night-run: a-z, 0-9, - and _, at most 40.",
        error_messages={"required": "Give the campaign a name."},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ("name", "limit")


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
    campaign = forms.CharField(
        label="Campaign",
        required=False,
        max_length=100,
        widget=forms.Select,
        help_text="Which of your team’s campaigns it belongs to.",
    )
    field_order: tuple[str, ...] = ("file", "campaign", "message")

    def offer(self, campaigns: Iterable[str]) -> None:
        """Let one choose among these campaigns."""
        _offer(self, campaigns, "None")


def _offer(form: forms.Form, campaigns: Iterable[str], without: str) -> None:
    widget: Any = form.fields["campaign"].widget
    widget.choices = [("", without), *((each, each) for each in campaigns)]


class SubmissionsForm(forms.Form):
    """Searches a team's submissions, by an address; what makes no sense is left out."""

    q = forms.CharField(label="Search", required=False, max_length=100)
    status = forms.ChoiceField(
        label="Status", required=False, choices=[("", "All"), *Status.choices]
    )
    campaign = forms.CharField(
        label="Campaign", required=False, max_length=100, widget=forms.Select
    )
    sort = forms.ChoiceField(
        label="Order", required=False, choices=[(name, text) for name, (text, _) in ORDERS.items()]
    )

    def offer(self, campaigns: Iterable[str]) -> None:
        """Let one choose among these campaigns."""
        _offer(self, campaigns, "All")

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
    field_order = ("file", "claimed_score", "campaign", "message")


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
        choices=[
            *(("1", "a day"), ("7", "7 days"), ("30", "30 days"), ("90", "90 days")),
            *(("365", "a year"), ("never", "no end")),
        ],
        initial="90",
    )
    competition = forms.ChoiceField(
        label="Only for",
        required=False,
        help_text="For an agent: the token reads this competition and submits to it, and nothing "
        "else. It changes neither team nor account.",
    )
    campaign = forms.CharField(
        label="Campaign there",
        required=False,
        max_length=100,
        help_text="The name of your team’s campaign that all its submissions belong to.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    quota = forms.IntegerField(
        label="Quota there",
        required=False,
        help_text="How many submissions may be made with it. Empty: as many as your team may.",
        widget=forms.NumberInput(attrs={"min": 1, "autocomplete": "off"}),
    )

    def __init__(self, user: User, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        offered = [each for each in Scope if each != Scope.ORGANIZE or may_organize_at_all(user)]
        own = [(team.competition.slug, team.competition.title) for team in my_teams(user)]
        self.fields["competition"].choices = [("", "All of yours"), *own]  # type: ignore[attr-defined]  # of a choice field
        self.fields["scopes"].choices = [(each.value, each.label) for each in offered]  # type: ignore[attr-defined]  # of a choice field

    @property
    def days(self) -> int | None:
        """Return the chosen lifetime, None for no end."""
        chosen = self.cleaned_data["lifetime"]
        return None if chosen == "never" else int(chosen)

    @property
    def of_all(self) -> list[forms.BoundField]:
        """Return the fields of every token."""
        return [self[name] for name in ("name", "scopes", "lifetime")]

    @property
    def of_bound(self) -> list[forms.BoundField]:
        """Return those of a token that is bound to a competition."""
        return [self[name] for name in ("competition", "campaign", "quota")]

    @property
    def binding(self) -> Binding:
        """Return what the token is for."""
        given = self.cleaned_data
        return Binding(given["competition"], given["campaign"].strip(), given["quota"])
