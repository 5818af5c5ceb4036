"""What organizers announced."""

from dataclasses import dataclass

from allauth.account.models import EmailAddress
from django.db.models import QuerySet

from leaderboard.models import Announcement, Channel, Competition, NoticeKind, Preference, User

NEWEST = 3


def announcements(competition: Competition) -> QuerySet[Announcement]:
    """Return what stands announced, the newest first."""
    return competition.announcements.shown().select_related("author")


@dataclass(frozen=True)
class Choice:
    """Whether a person wants mails of a kind from a competition."""

    competition: Competition
    kind: NoticeKind
    is_wanted: bool

    @property
    def name(self) -> str:
        """Return the name of its field in a form."""
        return f"{self.competition.pk}:{self.kind}"


def has_confirmed_address(user: User) -> bool:
    """Return whether mails can be sent to the person at all."""
    return bool(EmailAddress.objects.filter(user=user, verified=True).exists())


def mail_choices(user: User) -> list[Choice]:
    """Return what the person can be sent by mail: as a member, and as an owner."""
    unwanted = set(
        Preference.objects.filter(user=user, channel=Channel.MAIL, is_wanted=False).values_list(
            "competition", "kind"
        )
    )
    joined = Competition.objects.filter(
        memberships__in=user.memberships.active().values("pk")
    ).order_by("title", "pk")
    owned = Competition.objects.filter(
        roles__user=user, roles__role="owner", webhooks__isnull=False
    ).order_by("title", "pk")
    pairs = [(each, NoticeKind.ANNOUNCEMENT) for each in joined]
    pairs += [(each, NoticeKind.WEBHOOK_DISABLED) for each in owned.distinct()]
    return [
        Choice(competition, kind, (competition.pk, kind.value) not in unwanted)
        for competition, kind in pairs
    ]
