"""Competitions, what is asked in them, and their files."""

from typing import Any

from rest_framework import serializers

from leaderboard.api.serializers.base import Json, Out
from leaderboard.models import Phase
from scoring.predictions.schema import KINDS


class Competition(Out):
    """What the list and the page of a competition share."""

    slug = serializers.CharField(help_text="Its name in addresses and on the command line.")
    title = serializers.CharField()
    tagline = serializers.CharField()
    phase = serializers.ChoiceField(choices=Phase.choices)
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField(allow_null=True, help_text="Null: it has no end.")
    metric = serializers.CharField()
    joined = serializers.BooleanField()
    revealed_at = serializers.DateTimeField(
        allow_null=True, help_text="When the final scores were revealed."
    )


class CompetitionItem(Competition):
    """A competition in the list."""

    mechanism = serializers.CharField()
    teams = serializers.IntegerField(
        allow_null=True, help_text="Null: hidden from you until the end."
    )
    submissions = serializers.IntegerField(
        allow_null=True, help_text="Scored submissions of all teams; null: hidden as well."
    )


class PredictionColumn(Out):
    """A column that a prediction file must have."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(choices=KINDS)
    classes = serializers.ListField(child=serializers.CharField(), required=False)
    separator = serializers.CharField(
        required=False, trim_whitespace=False, help_text="Between the labels of one cell."
    )
    most = serializers.IntegerField(
        required=False, help_text="The longest ranking allowed; of a text the most runs of a model."
    )


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
        help_text="Plain rows that they count as: fewer where rows have weights or groups."
    )
    public_rows = serializers.IntegerField(help_text="Rows whose score may be shown.")
    asked = serializers.IntegerField(
        allow_null=True,
        help_text="Questions about files so far, of all teams; null, as the next two, as long as "
        "the board is hidden until the end.",
    )
    answered = serializers.IntegerField(
        allow_null=True, help_text='How many answers said more than "no".'
    )
    budget_left = serializers.IntegerField(allow_null=True)

    def to_representation(self, facts: Any) -> Json:
        names = ("title", "value", "help")
        rows = [dict(zip(names, each, strict=True)) for each in facts.parameters]
        return super().to_representation({**vars(facts), "parameter_rows": rows})


class Revision(Out):
    """The last revision of the solution."""

    version = serializers.IntegerField()
    at = serializers.DateTimeField()
    reason = serializers.CharField()
    scored = serializers.IntegerField(help_text="Submissions that were scored again so far,")
    of = serializers.IntegerField(help_text="of so many.")


class ListedBoard(Out):
    """A board of a round, as `?board=` asks for it."""

    position = serializers.IntegerField()
    title = serializers.CharField()
    uid = serializers.CharField(help_text="Its permanent id, as the ledger names it.")


class ListedRound(Out):
    """A round that has begun, as `?round=` asks for it."""

    number = serializers.IntegerField()
    title = serializers.CharField()
    ledger = serializers.CharField(
        allow_null=True,
        help_text="The permanent id of the ledger of its rows, as the public log names it; rounds "
        "on the same rows share it.",
    )
    boards = ListedBoard(many=True, help_text="The first one ranks.")


class CompetitionDetail(Competition):
    """All that a participant may know of a competition."""

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
    is_hidden = serializers.BooleanField(
        help_text="The board is hidden until the end: until the final scores are revealed, a team "
        "sees its own answers and nothing of others. Guarantees hold if teams don't share answers."
    )
    team_limit = serializers.IntegerField(allow_null=True, help_text="Teams at most.")
    question_limit = serializers.IntegerField(
        allow_null=True, help_text="Questions that the ledger answers, of all teams together."
    )
    nats_limit = serializers.IntegerField(
        allow_null=True, help_text="What a team's answers may tell of the hidden rows, in nats."
    )
    gate_limit = serializers.IntegerField(
        allow_null=True, help_text="Yes-or-no questions of programs that it answers; null: none."
    )
    finals_started_at = serializers.DateTimeField(
        allow_null=True, help_text="When submitting and choosing ended for good."
    )
    rounds = ListedRound(many=True, help_text="None in a draft.")
    schema = PredictionSchema(allow_null=True)
    metric_name = serializers.CharField(
        help_text="What `holdfast.Competition.evaluate` finds the metric by."
    )
    metric_parameters = serializers.DictField(
        help_text="Its parameters as chosen; those left out have their defaults."
    )
    direction = serializers.ChoiceField(choices=("maximize", "minimize"))
    mechanism = MechanismFacts(allow_null=True)
    revision = Revision(allow_null=True, help_text="Null: the solution was never revised.")
    paused = serializers.BooleanField(
        help_text="Nothing is taken or answered until the ledger or the solution is repaired."
    )


class FileItem(Out):
    """A file to download."""

    name = serializers.CharField()
    role = serializers.CharField(help_text="train, test, sample or other.")
    description = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField(help_text="Hex digest of the content; also its ETag.")
    created_at = serializers.DateTimeField()
