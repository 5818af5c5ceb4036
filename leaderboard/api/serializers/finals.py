"""What teams enter for the end, and the final board."""

from rest_framework import serializers

from leaderboard import words
from leaderboard.api.serializers.base import Body, Interval, Out
from leaderboard.queries import Choice


class FinalsBody(Body):
    """What a team enters."""

    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=10**9),
        max_length=1000,
        help_text="Numbers of released submissions; an empty list takes the choice back.",
    )


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


class FinalEntry(Out):
    """An entered submission with its exact score."""

    number = serializers.IntegerField(help_text="The submission's number within its team.")
    is_chosen = serializers.BooleanField(
        help_text="False: nothing was chosen, the team's best submission is used."
    )
    score = serializers.FloatField(source="value")
    score_text = serializers.CharField(source="score")
    loss_numerator = serializers.IntegerField(
        source="loss.numerator", help_text="The exact loss from 0 to 1, as a fraction."
    )
    loss_denominator = serializers.IntegerField(source="loss.denominator")
    sampling = Interval(
        allow_null=True, help_text="The plain 95 % interval of this score alone, or null."
    )
    interval = Interval(
        allow_null=True, help_text="Simultaneous confidence interval; null: the metric allows none."
    )


class FinalItem(Out):
    """A row of the final board."""

    rank = serializers.IntegerField(
        allow_null=True,
        help_text="By exact score; equal scores share a rank. Null: a baseline, which is no team.",
    )
    tied = serializers.BooleanField(help_text="Other teams have this rank too.")
    best_place = serializers.IntegerField(
        allow_null=True,
        help_text="The best place that its expected score could have; null: there were no tests.",
    )
    worst_place = serializers.IntegerField(allow_null=True, help_text="The worst one.")
    could_be_first = serializers.BooleanField(
        allow_null=True, help_text="True: no team is surely better."
    )
    team = serializers.CharField()
    team_uid = serializers.CharField(source="uid", help_text="Its permanent id.")
    best = FinalEntry(help_text="The entry that puts the team here.")
    others = FinalEntry(many=True, help_text="Its other entries.")
    released_rank = serializers.IntegerField(
        allow_null=True, help_text="Its rank during the competition; equal scores share one."
    )
    released_score_text = serializers.CharField(source="released_score", allow_null=True)
    move = serializers.IntegerField(
        allow_null=True, help_text="Places won since then; negative: lost."
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
    tests = serializers.CharField(
        help_text="How entries were compared, binomial or betting; empty where they weren't."
    )
    could_be_first = serializers.IntegerField(
        allow_null=True, help_text="How many teams no other is surely better than."
    )


class FinalTests(Out):
    """The tests of all pairs of entries that places rest on."""

    rows = serializers.CharField(help_text="final or private, as in the board's facts.")
    form = serializers.CharField(help_text="binomial or betting.")
    level = serializers.CharField(help_text="Of Holm's procedure over all hypotheses.")
    hypotheses = serializers.IntegerField(help_text="Ordered pairs that were tested.")
    entries = serializers.ListField(
        help_text="In their order: the team's permanent id and the submission's number."
    )
    better = serializers.ListField(
        help_text=(
            "Rejected pairs: of two entries, counted from 0, the first is surely better than the "
            "second, with this p-value. The rest follows by transitivity."
        )
    )
    places = serializers.ListField(help_text="The best and the worst place of each entry.")
