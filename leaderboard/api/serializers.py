"""What goes in and out: every field by name, so that nothing gets out or in by accident."""

import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard import words
from leaderboard.models import Kind, Phase, Status
from leaderboard.pipeline.intake import MESSAGE_LENGTH
from leaderboard.queries import BoardRow, Choice, Quota, Released, SubmissionRow
from scoring.predictions.schema import KINDS

INTERVAL_DIGITS = 6  # the ends of an interval need no more
FORM_FIELDS = {"csrfmiddlewaretoken"}

Json = dict[str, Any]


# --- In -------------------------------------------------------------------------------------------


class Body(serializers.Serializer[Any]):
    """A request body: a field that is not its own is an error, not ignored."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            mine = {name for name, field in self.fields.items() if not field.read_only}
            unknown = sorted(str(name) for name in set(data) - mine - FORM_FIELDS)
            if unknown:
                text = "`{}` is not a field that can be written here."
                raise serializers.ValidationError(
                    {name: [text.format(name)] for name in unknown}, code="unknown_field"
                )
        return super().to_internal_value(data)


class LoginBody(Body):
    """A user name and its password."""

    username = serializers.CharField(max_length=254, help_text="User name or e-mail address.")
    password = serializers.CharField(
        max_length=1000, trim_whitespace=False, style={"input_type": "password"}
    )


class JoinBody(Body):
    """Accepting the rules, alone or by invitation."""

    accept_rules = serializers.BooleanField(
        help_text="True: you have read the rules and accept them."
    )
    team_name = serializers.CharField(
        required=False, max_length=200, help_text="Your team's name; your user name if left out."
    )
    invitation = serializers.CharField(
        required=False, max_length=100, help_text="The token of an invitation, to join its team."
    )

    def validate(self, body: Json) -> Json:
        if "team_name" in body and "invitation" in body:
            raise serializers.ValidationError(
                {"team_name": ["The inviting team has a name already."]}, code="not_both"
            )
        return body


class TeamBody(Body):
    """What of a team can be written."""

    name = serializers.CharField(max_length=200, help_text="The team's new name.")


class FinalsBody(Body):
    """What a team enters."""

    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=10**9),
        max_length=1000,
        help_text="Numbers of released submissions; an empty list takes the choice back.",
    )


class SubmissionBody(Body):
    """A prediction file."""

    file = serializers.FileField(
        allow_empty_file=True,
        help_text="CSV or Parquet with the columns of the sample submission, also packed.",
    )
    message = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MESSAGE_LENGTH,
        help_text="A note for your team.",
    )
    claimed_score = serializers.FloatField(
        required=False,
        help_text="The score you expect; asked for where there are no public rows.",
    )

    def validate_claimed_score(self, value: float) -> float:
        if not math.isfinite(value):
            raise serializers.ValidationError("A score is a finite number.", code="not_finite")
        return value


# --- Out ------------------------------------------------------------------------------------------


# An answer, made from a frozen row of the queries. Its docstring would show on every object.
class Out(serializers.Serializer[Any]):
    __doc__ = ""


class Login(Out):
    """A new token."""

    token = serializers.CharField(help_text="Shown this once. Send it as `Authorization: Token …`.")
    expiry = serializers.DateTimeField(allow_null=True)
    username = serializers.CharField()


class MyTeam(Out):
    """A team of yours."""

    competition = serializers.CharField(source="competition.slug")
    name = serializers.CharField()


class Me(Out):
    """Who is signed in."""

    username = serializers.CharField()
    email = serializers.EmailField()
    is_organizer = serializers.BooleanField()
    token_expires_at = serializers.DateTimeField(
        allow_null=True, help_text="When the token of this request expires."
    )
    teams = MyTeam(many=True)


class CompetitionItem(Out):
    """A competition in the list."""

    slug = serializers.CharField(help_text="Its name in addresses and on the command line.")
    title = serializers.CharField()
    tagline = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.choices)
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField()
    metric = serializers.CharField()
    mechanism = serializers.CharField()
    teams = serializers.IntegerField()
    submissions = serializers.IntegerField(help_text="Scored submissions of all teams.")
    joined = serializers.BooleanField()
    revealed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the final scores were revealed."
    )


class PredictionColumn(Out):
    """A column that a prediction file must have."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    classes = serializers.ListField(child=serializers.CharField(), required=False)
    separator = serializers.CharField(
        required=False, trim_whitespace=False, help_text="Between the labels of one cell."
    )
    most = serializers.IntegerField(required=False, help_text="The longest ranking allowed.")


class PredictionSchema(Out):
    """The columns of a prediction file; their order is free."""

    id_column = serializers.CharField()
    columns = PredictionColumn(many=True)


class MechanismParameter(Out):
    """A parameter that the organizer chose."""

    title = serializers.CharField()
    value = serializers.CharField()
    help = serializers.CharField()


class MechanismFacts(Out):
    """What may be known of the mechanism that answers on this board."""

    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    parameters = MechanismParameter(source="parameter_rows", many=True)
    private_rows = serializers.IntegerField(help_text="Hidden rows that scores come from.")
    effective_rows = serializers.IntegerField(
        help_text="Plain rows that they count as: fewer where rows have weights."
    )
    public_rows = serializers.IntegerField(help_text="Rows whose score may be shown.")
    asked = serializers.IntegerField(help_text="Questions so far, of all teams.")
    answered = serializers.IntegerField(help_text='How many answers said more than "no".')
    budget_left = serializers.IntegerField(allow_null=True)

    def to_representation(self, facts: Any) -> Json:
        names = ("title", "value", "help")
        rows = [dict(zip(names, each, strict=True)) for each in facts.parameters]
        return super().to_representation({**vars(facts), "parameter_rows": rows})


class Correction(Out):
    """The last correction of the solution."""

    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()
    scored = serializers.IntegerField(help_text="Submissions that were scored again so far,")
    of = serializers.IntegerField(help_text="of so many.")


class CompetitionDetail(Out):
    """All that a participant may know of a competition."""

    slug = serializers.CharField()
    title = serializers.CharField()
    tagline = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.choices)
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField()
    announced_closes_at = serializers.DateTimeField(
        allow_null=True, help_text="When it was to close; null: it was not closed earlier."
    )
    description = serializers.CharField(help_text="Markdown.")
    rules = serializers.CharField(help_text="Markdown.")
    rules_version = serializers.IntegerField()
    data_description = serializers.CharField(help_text="Markdown.")
    daily_limit = serializers.IntegerField(help_text="Submissions of a team in a day (UTC).")
    total_limit = serializers.IntegerField(allow_null=True, help_text="Submissions in all.")
    team_size = serializers.IntegerField()
    max_file_bytes = serializers.IntegerField()
    finals_limit = serializers.IntegerField(help_text="Final entries of a team.")
    finals_started_at = serializers.DateTimeField(
        allow_null=True, help_text="When submitting and choosing ended for good."
    )
    revealed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the final scores were revealed."
    )
    schema = PredictionSchema(allow_null=True)
    metric = serializers.CharField()
    direction = serializers.ChoiceField(choices=("maximize", "minimize"))
    mechanism = MechanismFacts(allow_null=True)
    correction = Correction(allow_null=True, help_text="Null: the solution was never corrected.")
    paused = serializers.BooleanField(
        help_text="Nothing is taken or answered until the ledger or the solution is mended."
    )
    joined = serializers.BooleanField()


class FileItem(Out):
    """A file to download."""

    name = serializers.CharField()
    role = serializers.CharField(help_text="train, test, sample or other.")
    description = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(help_text="Hex digest of the content; also its ETag.")
    created_at = serializers.DateTimeField()


class Interval(Out):
    """An interval of scores."""

    low = serializers.FloatField()
    high = serializers.FloatField()

    def to_representation(self, interval: Any) -> Json:
        return {
            "low": round(interval.low, INTERVAL_DIGITS),
            "high": round(interval.high, INTERVAL_DIGITS),
        }


class BoardItem(Out):
    """A row of the leaderboard: released values only."""

    rank = serializers.IntegerField(help_text="By released score; ties go to who was first.")
    team = serializers.CharField()
    score = serializers.SerializerMethodField(help_text="Null: nothing is released yet.")
    score_text = serializers.CharField(
        source="score", allow_null=True, help_text="The score with the digits that mean something."
    )
    sampling = Interval(allow_null=True, help_text="95 % sampling interval of the score.")
    certificate = Interval(
        allow_null=True, help_text="What the ledger certifies; null: no certificate."
    )
    entries = serializers.IntegerField(help_text="Scored submissions.")
    last_improvement_at = serializers.DateTimeField(source="improved_at", allow_null=True)
    last_answer = serializers.ChoiceField(choices=Kind.choices, source="last_kind")
    last_answer_at = serializers.DateTimeField(source="last_at")
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    version = serializers.IntegerField(help_text="Of the solution that the score was released on.")
    earlier = serializers.BooleanField(help_text="That solution has been corrected since.")
    is_mine = serializers.BooleanField(source="mine")

    def get_score(self, row: BoardRow) -> float | None:
        return _number(row.score)


class FinalEntry(Out):
    """An entered submission with its exact score."""

    number = serializers.IntegerField(help_text="The submission's number within its team.")
    is_chosen = serializers.BooleanField(
        help_text="False: nothing was chosen, the best released score stands in."
    )
    score = serializers.FloatField(source="value")
    score_text = serializers.CharField(source="score")
    loss_numerator = serializers.IntegerField(
        source="loss.numerator", help_text="The exact loss from 0 to 1, as a fraction."
    )
    loss_denominator = serializers.IntegerField(source="loss.denominator")
    interval = Interval(
        allow_null=True, help_text="Right for all entries at once; null: the metric allows none."
    )


class FinalItem(Out):
    """A row of the final board."""

    rank = serializers.IntegerField(help_text="By exact score; equal scores share a rank.")
    team = serializers.CharField()
    best = FinalEntry(help_text="The entry that puts the team here.")
    others = FinalEntry(many=True, help_text="Its other entries.")
    released_rank = serializers.IntegerField(help_text="Its rank during the competition.")
    released_score_text = serializers.CharField(source="released_score", allow_null=True)
    move = serializers.IntegerField(help_text="Places won since then; negative: lost.")
    with_winner = serializers.BooleanField(
        allow_null=True, help_text="Its interval overlaps the winner's: not told apart."
    )
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    is_mine = serializers.BooleanField(source="mine")


class FinalFacts(Out):
    """What was measured, and what the intervals cover."""

    rows = serializers.CharField(help_text="final: kept for the end; private: the board's own.")
    count = serializers.IntegerField(help_text="How many rows.")
    effective = serializers.IntegerField(help_text="How many plain rows they count as.")
    finalists = serializers.IntegerField(help_text="Entered submissions.")
    confidence = serializers.FloatField(help_text="That all intervals are right at once.")
    reason = serializers.CharField(help_text="Why there are no intervals; empty where there are.")


class Finals(Out):
    """What your team enters for the final scores."""

    limit = serializers.IntegerField()
    numbers = serializers.ListField(child=serializers.IntegerField(), help_text="What was chosen.")
    stand_in = serializers.IntegerField(
        allow_null=True, help_text="What is entered as long as nothing is chosen."
    )
    entered = serializers.ListField(child=serializers.IntegerField(), help_text="What counts.")
    may_change = serializers.BooleanField(help_text="False: the finals have started.")
    summary = serializers.SerializerMethodField(help_text="The same in words.")

    def get_summary(self, choice: Choice) -> str:
        return words.entered(choice)


class TeamItem(Out):
    """A team as everyone sees it."""

    name = serializers.CharField()
    members = serializers.IntegerField()
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class Limits(Out):
    """What the team may still submit."""

    daily_limit = serializers.IntegerField()
    daily_left = serializers.IntegerField()
    renews_at = serializers.DateTimeField(help_text="When the day (UTC) ends.")
    total_limit = serializers.IntegerField(allow_null=True)
    total_left = serializers.IntegerField(allow_null=True)
    left = serializers.IntegerField(help_text="What may be submitted now.")
    summary = serializers.SerializerMethodField(help_text="The same in words.")

    def get_summary(self, quota: Quota) -> str:
        today = f"{quota.daily_left} of {quota.daily_limit} submissions left today"
        if quota.total_left is None:
            return f"{today}."
        return f"{today}, {quota.total_left} of {quota.total_limit} in all."


class Member(Out):
    """A member of your team."""

    username = serializers.CharField()
    is_captain = serializers.BooleanField()


class TeamDetail(Out):
    """Your team."""

    competition = serializers.CharField()
    name = serializers.CharField()
    members = Member(many=True)
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    limits = Limits()


class Problem(Out):
    """One thing that is wrong with a prediction file."""

    code = serializers.CharField()
    message = serializers.CharField()
    line = serializers.IntegerField(allow_null=True)
    column = serializers.CharField(allow_null=True)
    value = serializers.CharField(allow_null=True)
    expected = serializers.CharField(allow_null=True)


class Release(Out):
    """What the mechanism said about a submission."""

    kind = serializers.ChoiceField(choices=Kind.choices)
    number = serializers.IntegerField(help_text="Its number in the public ledger.")
    score = serializers.SerializerMethodField()
    score_text = serializers.CharField(source="score", allow_null=True)
    reference_text = serializers.CharField(
        source="reference", allow_null=True, help_text="The score on the public rows."
    )
    sampling = Interval(allow_null=True)
    certificate = Interval(allow_null=True)
    share_left = serializers.IntegerField(
        allow_null=True, help_text="What is left of the team's share of the budget."
    )
    asked = serializers.IntegerField(help_text="How many questions there had been by then.")
    version = serializers.IntegerField(help_text="Of the solution that it was measured on.")
    earlier = serializers.BooleanField(help_text="That solution has been corrected since.")
    is_repeat = serializers.BooleanField(
        source="repeat", help_text="Asked before: the stored answer, at no cost."
    )
    created_at = serializers.DateTimeField()

    def get_score(self, released: Released) -> float | None:
        return _number(released.score)


class Submission(Out):
    """A submission as its team sees it."""

    number = serializers.IntegerField(help_text="Counts within the team: 1, 2, 3 …")
    user = serializers.CharField()
    file_name = serializers.CharField()
    size = serializers.IntegerField()
    sha256 = serializers.CharField()
    message = serializers.CharField()
    status = serializers.ChoiceField(choices=Status.choices)
    is_final = serializers.BooleanField(help_text="False: ask again in a moment.")
    summary = serializers.SerializerMethodField(
        help_text="What happened, what it means, what can be done."
    )
    problems = Problem(many=True, help_text="The first problems of a rejected file.")
    problem_count = serializers.IntegerField()
    release = Release(source="released", allow_null=True)
    final = serializers.SerializerMethodField(
        help_text="Its exact score; null: not entered, or not revealed yet."
    )
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_summary(self, row: SubmissionRow) -> str:
        return words.summary(row)

    @extend_schema_field(FinalEntry(allow_null=True))
    def get_final(self, row: SubmissionRow) -> Json | None:
        """From `context`: the team's `finals` by the submission's number."""
        entry = self.context["finals"].get(row.number)
        return None if entry is None else dict(FinalEntry(entry).data)


class NewSubmission(Submission):
    """A submission just received, and what may follow it."""

    limits = Limits()


class OpeningItem(Out):
    """Solution and secret of one version of the holdout, opened."""

    version = serializers.IntegerField()
    opened_at = serializers.DateTimeField()
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField()


class LedgerEntry(Out):
    """An answer that left the holdout: the shown loss is level / steps."""

    number = serializers.IntegerField()
    version = serializers.IntegerField(
        help_text="Of the solution; it rises when the organizer corrects it. Not hashed."
    )
    team = serializers.IntegerField()
    submission = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Kind.choices)
    level = serializers.IntegerField(allow_null=True)
    reference_level = serializers.IntegerField(allow_null=True)
    steps = serializers.IntegerField()
    width = serializers.FloatField()
    tolerance = serializers.FloatField()
    certificate = serializers.FloatField(allow_null=True)
    asked = serializers.IntegerField()
    answered = serializers.IntegerField(help_text="This and the next three: the ledger after it.")
    log_alphabets = serializers.FloatField()
    firings = serializers.IntegerField()
    budget_left = serializers.IntegerField(allow_null=True)
    share_left = serializers.IntegerField(allow_null=True)
    predictions_tag = serializers.CharField(
        help_text="A keyed hash of the predictions: it can be checked once the secret is opened."
    )
    question = serializers.CharField()
    repeat = serializers.BooleanField()
    parameters_hash = serializers.CharField()
    previous_hash = serializers.CharField()
    created_at = serializers.CharField(help_text="Exactly as it is hashed.")
    hash = serializers.CharField()


def _number(text: str | None) -> float | None:
    """The number that is shown, without digits that mean nothing."""
    return None if text is None else float(text)
