"""The board, its guarantee, and the public ledger behind it."""

from rest_framework import serializers

from leaderboard import words
from leaderboard.api.serializers.base import AnswerCode, Interval, Out, Scored
from leaderboard.queries import Guarantee


class BoardItem(Scored):
    """A row of the leaderboard: released values only."""

    rank = serializers.IntegerField(
        allow_null=True,
        help_text="By released score; equal scores share one. Null: a baseline, which is no team, "
        "or hidden until the end.",
    )
    tied = serializers.BooleanField(help_text="Other teams have this rank too.")
    change = serializers.IntegerField(
        allow_null=True,
        help_text="Places won since 00:00 UTC; negative: lost. Null: it had none then.",
    )
    team = serializers.CharField()
    team_uid = serializers.CharField(source="uid", help_text="Its permanent id.")
    entries = serializers.IntegerField(help_text="Scored submissions.")
    variants = serializers.IntegerField(
        help_text="How many of them predict something else: what the team has tried."
    )
    last_improvement_at = serializers.DateTimeField(source="improved_at", allow_null=True)
    last_answer = AnswerCode(source="last_kind")
    last_answer_at = serializers.DateTimeField(source="last_at")
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    is_mine = serializers.BooleanField(source="mine")
    surely_better_than = serializers.ListField(
        source="surely_better",
        child=serializers.CharField(),
        help_text="Teams whose shown scores this one surely beats on the private rows, with the "
        "board's confidence. Of others nothing is known.",
    )


class BoardContenders(Out):
    """The teams that could be first, where valid tests rule others out."""

    could_be_first = serializers.IntegerField(help_text="How many teams no other surely beats.")
    teams = serializers.IntegerField(help_text="Of so many with a score.")
    names = serializers.ListField(
        source="contenders", child=serializers.CharField(), help_text="The first few of them."
    )
    how = serializers.CharField(help_text="What it follows from.")


class BoardGuarantee(Out):
    """How sure the leading score is, and how sure it will be."""

    sentence = serializers.SerializerMethodField(help_text="What is promised, in words.")
    questions_text = serializers.SerializerMethodField(
        help_text="How many questions were answered, and what that will come to, in words."
    )
    score_text = serializers.CharField(
        source="score", help_text="The leading score; a likely one where nobody has one yet."
    )
    half_width = serializers.FloatField(
        source="now",
        allow_null=True,
        help_text="Half the width of `interval`, in units of the score; null: no guarantee.",
    )
    interval = Interval(
        allow_null=True,
        help_text=(
            "Of the score's expected value: what the same predictions would get on average if the "
            "hidden labels were drawn again; not what a model would get on new data. Where labels "
            "follow from the features, exact public scores tell which rows are hidden, and it "
            "doesn't hold."
        ),
    )
    half_width_at_end = serializers.FloatField(
        source="at_end",
        allow_null=True,
        help_text="At the pace so far; null: none then, or (with `expected`) not known.",
    )
    confidence = serializers.FloatField()
    answered = serializers.IntegerField(help_text="Questions answered, of all teams.")
    limit = serializers.IntegerField(
        allow_null=True, help_text="So many are answered at most; null: no limit."
    )
    used = serializers.FloatField(allow_null=True, help_text="Part of the limit, from 0 to 1.")
    is_full = serializers.BooleanField(help_text="The limit is reached: nothing is answered.")
    expected = serializers.IntegerField(
        allow_null=True, help_text="Questions at the end at the pace so far; null: not known."
    )
    by_team = serializers.BooleanField(
        help_text=(
            "All this is of your team alone, and holds if teams don't share answers: the board is "
            "hidden until the end."
        )
    )

    def get_sentence(self, found: Guarantee) -> str:
        return words.board_guarantee(found)

    def get_questions_text(self, found: Guarantee) -> str:
        return words.questions(found)


class PublicationItem(Out):
    """Solution and secret of one revision of the holdout, published."""

    version = serializers.IntegerField()
    published_at = serializers.DateTimeField()
    size = serializers.IntegerField(help_text="In bytes.")
    sha256 = serializers.CharField()


class LedgerEntry(Out):
    """An answer that left the holdout: the shown loss is level / steps."""

    number = serializers.IntegerField()
    version = serializers.IntegerField(
        help_text="Of the solution; it rises when the organizer revises it. Not hashed."
    )
    board = serializers.CharField(allow_blank=True)
    team = serializers.CharField()
    submission = serializers.IntegerField()
    kind = AnswerCode()
    level = serializers.IntegerField(allow_null=True)
    reference_level = serializers.IntegerField(allow_null=True)
    steps = serializers.IntegerField()
    width = serializers.FloatField()
    tolerance = serializers.FloatField()
    certificate = serializers.FloatField(allow_null=True)
    asked = serializers.IntegerField()
    low = serializers.FloatField(
        allow_null=True, help_text="With `high` and `bound`: the interval of the loss as shown."
    )
    high = serializers.FloatField(allow_null=True)
    bound = serializers.CharField(allow_blank=True)
    answered = serializers.IntegerField(help_text="This and the next three: the ledger after it.")
    log_alphabets = serializers.FloatField()
    firings = serializers.IntegerField()
    budget_left = serializers.IntegerField(allow_null=True)
    share_left = serializers.IntegerField(allow_null=True)
    predictions_tag = serializers.CharField(
        help_text="A keyed hash of the predictions: it can be checked once the secret is published."
    )
    question = serializers.CharField()
    repeat = serializers.BooleanField()
    length = serializers.IntegerField(
        required=False,
        allow_null=True,
        help_text=(
            "L of this question in millionths of a nat, from which its interval follows; null: it "
            "got no answer. This and the next two are on ledgers that are charged by laws."
        ),
    )
    public_loss = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="The exact loss on the public rows, units/whole, which the laws read.",
    )
    baseline = serializers.BooleanField(
        required=False, help_text="The team was a baseline, and took nothing from the budget."
    )
    parameters_hash = serializers.CharField()
    previous_hash = serializers.CharField()
    created_at = serializers.CharField(help_text="Exactly as it is hashed.")
    hash = serializers.CharField()
