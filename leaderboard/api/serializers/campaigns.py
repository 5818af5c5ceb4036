"""Campaigns, and what answers have told of the hidden rows."""

from rest_framework import serializers

from leaderboard.api.serializers.base import INTERVAL_DIGITS, Body, Json, Out
from leaderboard.queries import Exposure


class CampaignBody(Body):
    """A campaign to begin."""

    name = serializers.CharField(max_length=200, help_text="1 to 40 of a-z, 0-9, - and _.")
    limit = serializers.IntegerField(
        required=False, allow_null=True, help_text="How many submissions it may make; null: no end."
    )


class CampaignChange(Body):
    """What of a campaign can be changed."""

    limit = serializers.IntegerField(
        required=False, allow_null=True, help_text="How many submissions it may make in all."
    )
    ended = serializers.BooleanField(
        required=False, help_text="True: it takes no more submissions, for good."
    )

    def validate_ended(self, value: bool) -> bool:
        if not value:
            raise serializers.ValidationError("A campaign that ended stays ended.", code="no_way")
        return value


class ExposureItem(Out):
    """What answers have told of the hidden rows."""

    questions = serializers.IntegerField(help_text="Answered; a repeat is none.")
    informative = serializers.IntegerField(help_text='Whose answer said more than "no".')
    nats = serializers.FloatField(
        allow_null=True, help_text="What the answers cost by the ledger's laws; null: not known."
    )
    before = serializers.FloatField(
        allow_null=True,
        help_text="Half the width of the leading score's guarantee by the first of these "
        "questions; null: no guarantee.",
    )
    after = serializers.FloatField(allow_null=True, help_text="The same by the last one.")

    def to_representation(self, exposure: Exposure) -> Json:
        found = super().to_representation(exposure)
        return {
            name: round(value, INTERVAL_DIGITS) if isinstance(value, float) else value
            for name, value in found.items()
        }


class CampaignItem(Out):
    """A campaign of your team."""

    name = serializers.CharField()
    limit = serializers.IntegerField(allow_null=True, help_text="Of submissions; null: no limit.")
    used = serializers.IntegerField(help_text="Rejected and repeated files use none of it.")
    left = serializers.IntegerField(allow_null=True)
    submissions = serializers.IntegerField(help_text="All that were sent.")
    created_by = serializers.CharField(help_text="Empty: somebody whose account is gone.")
    created_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
    exposure = ExposureItem(help_text="Of this campaign.")


class CampaignDetail(CampaignItem):
    """A campaign, beside its team and the whole competition."""

    team_exposure = ExposureItem(help_text="Of all that your team asked.")
    competition_exposure = ExposureItem(
        allow_null=True,
        help_text="Of all that the hidden rows answered; null: hidden until the end.",
    )
