"""Columns, files, scoring and solution."""

from rest_framework import serializers

from leaderboard.api.organize.serializers.competitions import SealedSolution
from leaderboard.api.serializers.base import Body, Out
from leaderboard.api.serializers.competitions import FileItem, PredictionColumn, PredictionSchema
from leaderboard.models import FileRole, Rescore
from leaderboard.organize.revisions import REASON_LENGTH
from scoring.predictions.schema import KINDS


class ColumnBody(Body):
    """A column that a prediction file must have."""

    name = serializers.CharField(trim_whitespace=False)
    kind = serializers.ChoiceField(choices=KINDS)
    classes = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False),
        required=False,
        help_text="Of label, labels and ranking: all that a cell may say.",
    )
    separator = serializers.CharField(
        required=False, trim_whitespace=False, help_text="Between the labels of one cell."
    )
    most = serializers.IntegerField(
        required=False, help_text="The longest ranking allowed; of a text the most runs of a model."
    )


class ColumnsBody(Body):
    """The columns of a prediction file."""

    id_column = serializers.CharField(trim_whitespace=False)
    columns = ColumnBody(many=True)


class Columns(Out):
    """The columns of a prediction file, and what saving them did."""

    columns = PredictionSchema(allow_null=True)
    solution_withdrawn = serializers.BooleanField(
        help_text="True: the solution was sealed for other ones, upload it again."
    )


class SampleBody(Body):
    """A file to read columns from; nothing of it is kept."""

    sample = serializers.FileField(help_text="A file as participants would send it.")
    more = serializers.FileField(
        required=False, help_text="A table with all classes, training data for example."
    )


class Guess(Out):
    """What a column may be."""

    kind = serializers.ChoiceField(choices=KINDS)
    classes = serializers.ListField(child=serializers.CharField())
    separator = serializers.CharField(trim_whitespace=False)
    most = serializers.IntegerField(allow_null=True)


class ProposedColumn(Out):
    """A column of a sample, and what it may be."""

    name = serializers.CharField()
    column = PredictionColumn(help_text="What it most likely is.")
    is_open = serializers.BooleanField(
        help_text="The cells leave open what it is: you have to say."
    )
    guesses = Guess(many=True, help_text="The likeliest first.")


class ProposedColumns(Out):
    """The columns that a sample suggests."""

    id_column = serializers.CharField()
    columns = ProposedColumn(many=True)


class PublicFileBody(Body):
    """A file for participants."""

    file = serializers.FileField(max_length=120, allow_empty_file=True)
    role = serializers.ChoiceField(choices=FileRole.choices)
    description = serializers.CharField(max_length=300, required=False, allow_blank=True)
    sure = serializers.BooleanField(
        required=False,
        help_text="True: it holds no hidden labels, though it looks as if (`looks_hidden`).",
    )


class PublicFile(FileItem):
    """A file of the data page."""


class Suggestion(Out):
    """A value that the data propose, and why."""

    field = serializers.CharField(help_text="Such as `metric_parameters.clip`.")
    title = serializers.CharField()
    value = serializers.CharField()
    reason = serializers.CharField()
    is_used = serializers.BooleanField()


class Choice(Out):
    """A metric or a mechanism that can be chosen."""

    name = serializers.CharField()
    title = serializers.CharField()
    parameters = serializers.ListField(child=serializers.CharField(), help_text="Their names.")


class ScoringBody(Body):
    """How a board scores."""

    metric = serializers.CharField()
    metric_parameters = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Numbers and choices, as text."
    )
    mechanism = serializers.CharField(
        required=False, help_text="As it is if left out; in a new draft, one that fits the metric."
    )
    mechanism_parameters = serializers.DictField(child=serializers.CharField(), required=False)


class Scoring(Out):
    """How the first board scores, and what its data propose."""

    metric = serializers.CharField()
    metric_parameters = serializers.DictField(child=serializers.CharField())
    mechanism = serializers.CharField()
    mechanism_parameters = serializers.DictField(child=serializers.CharField())
    grid = serializers.CharField(help_text="Which scores the board can show, in words.")
    half_width_at_end = serializers.CharField(
        allow_null=True,
        help_text="What it will promise of a usual score; empty: nothing, null: not known yet.",
    )
    proposals = Suggestion(many=True)
    metrics = Choice(many=True, help_text="Those that fit the columns.")
    mechanisms = Choice(many=True)
    solution_withdrawn = serializers.BooleanField(
        help_text="True: it was sealed for another metric, upload it again."
    )


class SolutionBody(Body):
    """The hidden labels."""

    solution = serializers.FileField(
        help_text="Ids, labels and a column Usage; it is sealed from memory, and never given back."
    )


class RevisionBody(SolutionBody):
    """A corrected solution, with its public reason."""

    reason = serializers.CharField(max_length=REASON_LENGTH, help_text="Public.")
    rescore = serializers.ChoiceField(
        choices=Rescore.choices, required=False, help_text="What is scored again."
    )


class RowChange(Out):
    """Rows of one usage, before and after."""

    usage = serializers.CharField()
    before = serializers.IntegerField()
    after = serializers.IntegerField()


class RevisionPreview(Out):
    """What a corrected solution would change."""

    changes = RowChange(many=True)


class RevisionCost(Out):
    """What scoring files again costs."""

    rescore = serializers.ChoiceField(choices=Rescore.choices)
    files = serializers.IntegerField()
    then = serializers.CharField(help_text="The guarantee after them; empty: none.")


class RevisionForecast(Out):
    """Whether the solution can be revised now, and what each choice costs."""

    refused = serializers.CharField(help_text="Why not; empty: it can.")
    now = serializers.CharField(help_text="The guarantee now; empty: none.")
    costs = RevisionCost(many=True)


class Revised(SealedSolution):
    """The revision that answers now."""

    rescored = serializers.IntegerField(help_text="Submissions that are scored again.")
