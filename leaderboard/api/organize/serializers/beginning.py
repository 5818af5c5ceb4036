"""A draft from files, and trials in a draft."""

from rest_framework import serializers

from leaderboard.api.organize.serializers.competitions import Organized
from leaderboard.api.organize.serializers.data import Scoring
from leaderboard.api.serializers.base import AnswerCode, Body, Out
from leaderboard.api.serializers.submissions import Problem, SubmissionBody
from leaderboard.models import Status, TrialKind
from leaderboard.models.submission import FINAL
from leaderboard.organize.quick import LASTS, SUBMISSIONS, TEAMS
from leaderboard.queries.trials import TrialRow
from scoring.mechanisms import answer_kind

_LARGEST = 1_000_000


def _file(text: str) -> serializers.FileField:
    return serializers.FileField(max_length=120, required=False, help_text=text)


def _page(text: str) -> serializers.CharField:
    return serializers.CharField(required=False, allow_blank=True, help_text=text)


class FromFilesBody(Body):
    """Files by what they are, and the little that they don't say."""

    train = _file("With the labels, to learn from. Participants download it.")
    test = _file("The rows to predict, without labels. Participants download it.")
    solution = serializers.FileField(
        help_text="The ids of the test data with their true labels. It is sealed from memory."
    )
    sample = _file("A sample submission; it is made from the test data if you have none.")
    title = serializers.CharField()
    slug = serializers.CharField(
        required=False, help_text="If left out, it follows from the title."
    )
    metric = serializers.CharField(required=False, help_text="Another one than is proposed.")
    teams = serializers.IntegerField(
        min_value=1,
        max_value=_LARGEST,
        required=False,
        help_text=f"At most; {TEAMS} if left out.",
    )
    submissions = serializers.IntegerField(
        min_value=1,
        max_value=_LARGEST,
        required=False,
        help_text=f"Of a team, in all; {SUBMISSIONS} if left out.",
    )
    opens_at = serializers.DateTimeField(required=False, help_text="Now, if left out.")
    closes_at = serializers.DateTimeField(
        required=False, help_text=f"{LASTS.days} days from now, if left out."
    )
    description = _page("The overview page, Markdown; written from the files if left out,")
    rules = _page("as the rules page")
    data_description = _page("and the data page.")


class Split(Out):
    """A way to bring the hidden rows into sets, and why."""

    by = serializers.CharField(help_text="`row`, `group`, `time`, or `given` by the solution.")
    column = serializers.CharField(help_text="Of the groups or times; empty: none.")
    reason = serializers.CharField()
    shares = serializers.DictField(
        child=serializers.CharField(),
        required=False,
        help_text="`public`, `private`, `final`: fractions. Missing of one that is given.",
    )


class Setup(Out):
    """What the files proposed."""

    files = serializers.DictField(child=serializers.CharField(), help_text="Names by role.")
    reasons = serializers.DictField(
        child=serializers.CharField(), help_text="Why the id, columns and metric are these."
    )
    split = Split(help_text="The one that was taken.")
    splits = Split(many=True, help_text="All that the files allow.")
    constant = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The best constant prediction by the training labels; null: none is known.",
    )
    sample_made = serializers.BooleanField(help_text="True: from the test data.")


class FromFiles(Organized):
    """A draft that was made from files."""

    setup = Setup()
    scoring = Scoring()


class TrialBody(SubmissionBody):
    """A prediction file, as participants would send it."""

    message = None  # type: ignore[assignment]  # there is no team to read it
    title = serializers.CharField(
        required=False, allow_blank=True, max_length=60, help_text="The file's name if left out."
    )


class TrialAnswer(Out):
    """What a board said of a trial."""

    board = serializers.CharField(help_text="Its title.")
    kind = AnswerCode()
    summary = serializers.SerializerMethodField(help_text="The same in words.")
    score_text = serializers.CharField(
        source="score", help_text="Empty: the mechanism gave no score, or the board was changed."
    )

    def get_summary(self, answer: object) -> str:
        return answer_kind(getattr(answer, "kind", "")).label


class TrialItem(Out):
    """A file that was tried in a draft."""

    id = serializers.IntegerField(source="pk")
    title = serializers.CharField()
    kind = serializers.CharField(help_text=", ".join(f"`{each}`" for each in TrialKind.values))
    status = serializers.ChoiceField(choices=Status.choices)
    is_final = serializers.SerializerMethodField(help_text="False: ask again in a moment.")
    answers = TrialAnswer(many=True)
    problems = Problem(many=True, help_text="The first problems of a rejected file.")
    problem_count = serializers.IntegerField()
    failure = serializers.CharField(help_text="Where it failed on our side.")
    is_baseline = serializers.BooleanField(help_text="Participants will see it on the board.")
    is_old = serializers.BooleanField(help_text="True: the draft asks something else by now.")
    created_at = serializers.DateTimeField()

    def get_is_final(self, row: TrialRow) -> bool:
        return row.status in FINAL
