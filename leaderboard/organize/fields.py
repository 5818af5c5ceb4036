"""Fields of a competition and of its round that organizers set, and what is wrong with them."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.utils import timezone

from leaderboard.models import Audience, Event, EventKind, Phase, Round
from leaderboard.participate.membership import count_teams

TEXTS: Final = ("title", "slug", "tagline", "description", "rules", "data_description")
OF_COMPETITION: Final = (*TEXTS, "visibility", "team_size")
# What a ledger begins with, for good.
OF_LEDGER: Final = ("is_hidden", "team_limit", "question_limit", "nats_limit", "gate_limit")
OF_ROUND: Final = (
    *("opens_at", "closes_at"),
    *("daily_limit", "total_limit", "max_file_bytes", "finals_limit"),
    *OF_LEDGER,
)
TIMES: Final = ("opens_at", "closes_at")
LIMITS: Final = ("daily_limit", "total_limit", "team_size", "max_file_bytes", "finals_limit")
MOST: Final = {
    **dict.fromkeys(("daily_limit", "total_limit", "team_size", "finals_limit"), 1_000_000),
    "team_limit": 1_000_000,
    "nats_limit": 1_000_000,
    "gate_limit": 100_000,
    "question_limit": 1_000_000_000,
}
# Addresses beside those of competitions, in the console and in the API.
RESERVED_SLUGS: Final = ("new", "from-files")

_Wrong = dict[str, Any]  # the facts of one wrong field: `leaderboard.refusals`
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_TYPING: Final = timedelta(minutes=5)  # a form of minutes, filled in now, is sent a little later


def holder(round: Round, name: str) -> Model:
    """Return the object that has the field."""
    return round if name in OF_ROUND else round.competition


def find_wrong(round: Round, changes: dict[str, Any]) -> dict[str, _Wrong]:
    """Write the changes into the round and its competition; return what is wrong, by field."""
    if unknown := changes.keys() - {*OF_COMPETITION, *OF_ROUND}:
        raise TypeError(f"These are no settings: {', '.join(sorted(unknown))}.")
    wrong = _find_wrong_times(round, changes)
    for name, value in changes.items():
        setattr(holder(round, name), name, value)
    for part in (round.competition, round):
        others = {field.name for field in part._meta.fields} - changes.keys()
        for check in (part.clean_fields, part.validate_unique):
            try:
                check(exclude=others)
            except ValidationError as error:
                messages = error.message_dict.items()
                wrong = {name: {"message": found[0]} for name, found in messages} | wrong
    if changes.get("slug") in RESERVED_SLUGS:
        wrong["slug"] = {"variant": "slug_reserved", "slug": changes["slug"]}
    wrong |= {
        name: {"variant": "too_many", "limit": limit}
        for name, limit in MOST.items()
        if (changes.get(name) or 0) > limit
    }
    if changes.get("max_file_bytes", 0) > settings.MAX_UPLOAD_BYTES:
        limit = settings.MAX_UPLOAD_BYTES
        wrong["max_file_bytes"] = {"variant": "too_large_for_site", "limit": limit}
    return _find_wrong_of_ledger(round, changes) | wrong


def _find_wrong_of_ledger(round: Round, changes: dict[str, Any]) -> dict[str, _Wrong]:
    """Return what the ledger can't begin with; of a draft, what its checklist doesn't ask for."""
    wrong = find_lacking(round)
    if round.competition.opened_by_organizer_at is None:
        wrong = {name: facts for name, facts in wrong.items() if name in TIMES}
    limit, teams = changes.get("team_limit"), count_teams(round.competition_id)
    if limit is not None and teams > limit:
        wrong["team_limit"] = {"variant": "fewer_than_teams", "teams": teams}
    if round.is_hidden and round.gate_limit and changes.keys() & {"is_hidden", "gate_limit"}:
        wrong["gate_limit"] = {"variant": "hidden_with_gates"}
    return wrong


def find_lacking(round: Round) -> dict[str, _Wrong]:
    """Return what a board that is hidden until the end can't be without, by field."""
    needed = {
        "closes_at": "hidden_without_end",
        "team_limit": "hidden_without_teams",
        "question_limit": "hidden_without_questions",
    }
    return {
        name: {"variant": variant}
        for name, variant in needed.items()
        if round.is_hidden and getattr(round, name) is None
    }


def _find_wrong_times(round: Round, changes: dict[str, Any]) -> dict[str, _Wrong]:
    """Return what is wrong with its times: nobody loses time that was announced."""
    now, moved = timezone.now(), changes.keys() & set(TIMES)
    phase = Phase.DRAFT if round._state.adding else round.phase(now)
    opens_at: datetime = changes.get("opens_at") or round.opens_at
    end: datetime = changes.get("closes_at", round.closes_at) or _NEVER
    later = Round.objects.filter(competition=round.competition_id, number__gt=round.number)
    rules = {
        "opens_in_the_past": phase is Phase.UPCOMING
        and "opens_at" in moved
        and opens_at < now - _TYPING,
        "closes_earlier": phase is Phase.OPEN and end < (_find_announced(round) or opens_at),
        "closes_before_opening": bool(moved) and end <= opens_at,
        "closes_after_next": "closes_at" in moved and later.filter(opens_at__lt=end).exists(),
        "closes_in_the_past": "closes_at" in moved and end <= now,
    }
    return next(
        (
            {f"{variant.partition('_')[0]}_at": {"variant": variant}}
            for variant, is_so in rules.items()
            if is_so
        ),
        {},
    )


def _find_announced(round: Round) -> datetime | None:
    """Return the end of an open round that participants plan for, also if it was taken away."""
    if round.closes_at is not None:
        return round.closes_at
    kinds = (EventKind.OPENED, EventKind.DEADLINE_CHANGED)
    events = Event.objects.filter(
        competition=round.competition_id, kind__in=kinds, audience=Audience.PUBLIC
    )
    told = events.filter(subjects__round=round.number, data__closes_at__isnull=False)
    last = told.exclude(data__closes_at=None).order_by("number").last()
    return datetime.fromisoformat(last.data["closes_at"]) if last else None
