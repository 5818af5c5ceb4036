"""The settings of a competition: texts, times, limits, and who sees it."""

from typing import Any, Final

from django.db import transaction
from django.utils import timezone

from leaderboard.access import Right, check_right
from leaderboard.errors import Refused, refuse_fields
from leaderboard.models import Audience, Competition, EventKind, Phase, Round, User
from leaderboard.notify.events import record
from leaderboard.organize import changes as changes_of
from leaderboard.organize.creation import create_competition
from leaderboard.organize.drafts import is_frozen
from leaderboard.organize.fields import (
    LIMITS,
    OF_LEDGER,
    OF_ROUND,
    TEXTS,
    TIMES,
    find_wrong,
    holder,
)
from leaderboard.organize.people import may_organize_at_all

# What the history tells of a change, to whom once it has been opened.
_EVENTS: Final = (
    (EventKind.DEADLINE_CHANGED, Audience.PUBLIC, TIMES),
    (EventKind.LIMIT_CHANGED, Audience.PUBLIC, (*LIMITS, *OF_LEDGER)),
    (EventKind.RULES_CHANGED, Audience.PUBLIC, ("rules_version",)),
    (EventKind.TEXTS_CHANGED, Audience.PUBLIC, TEXTS),
    (EventKind.HIDDEN, Audience.ORGANIZERS, ("visibility",)),
)


def create_draft(by: User, **fields: Any) -> Competition:
    """Create a draft with these settings, which `by` owns. Raises Refused, naming the fields."""
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    refuse_fields(find_wrong(Round(competition=Competition()), fields))
    return create_competition(organizer=by, **fields)


def fixed_settings(competition: Competition) -> frozenset[str]:
    """Return the settings that can't change any more, because participants rely on them."""
    round = competition.current_round
    phase = round.phase(timezone.now())
    if phase is Phase.DRAFT:
        return frozenset(OF_LEDGER if round.continues_id or is_frozen(round) else ())
    fixed = {"slug", *OF_LEDGER}
    if phase is not Phase.UPCOMING:
        fixed.add("opens_at")
    if round.announced_closes_at is not None:  # closed early, which is for good
        fixed.add("closes_at")
    if round.finals_started_at is not None:
        fixed.update(TIMES, LIMITS)
    return frozenset(fixed)


def change_settings(
    competition: Competition,
    by: User,
    *,
    ask_again: bool = False,
    **changes: Any,
) -> None:
    """Change settings of a competition and its current round, all or nothing.

    `ask_again`: the rules changed in substance, so members are asked to accept the new version. An
    open round doesn't close before the time that was announced: `pipeline.finalize.close_early`
    does that, for all to see. Raises Refused, naming the fields.
    """
    with transaction.atomic():
        # Not `lock.lock`: texts can be fixed while the watermark is away. Whoever closes a round
        # or starts its finals takes this row first as well.
        locked = Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        if changes or ask_again:
            check_right(by, locked, Right.EDIT)
        round = locked.current_round
        before = {name: getattr(holder(round, name), name) for name in changes}
        changed = {name: value for name, value in changes.items() if value != before[name]}
        fixed = fixed_settings(locked).intersection(changed)
        wrong = {
            name: {"variant": "of_the_ledger" if name in OF_LEDGER else "fixed"} for name in fixed
        }
        if ask_again and "rules" not in changed:
            wrong["ask_again"] = {"variant": "rules_unchanged"}
        free = {name: value for name, value in changed.items() if name not in fixed}
        refuse_fields(find_wrong(round, free) | wrong)
        if ask_again:
            before["rules_version"] = locked.rules_version
            locked.rules_version += 1
            changed["rules_version"] = locked.rules_version
        locked.save(update_fields=[name for name in changed if name not in OF_ROUND])
        round.save(update_fields=[name for name in changed if name in OF_ROUND])
        of_ledger = {name: changed[name] for name in OF_LEDGER if name in changed}
        same_rows = locked.rounds.filter(ledger__isnull=False, ledger=round.ledger)
        same_rows.update(**of_ledger)
        record_changes(round, by, before, changed)
    competition.refresh_from_db()


def record_changes(
    round: Round, by: User | None, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Record what of these changes the history tells of, and to whom."""
    is_draft = round.competition.opened_by_organizer_at is None
    for kind, audience, names in _EVENTS:
        told = [name for name in names if name in after]
        if told:
            record(
                round.competition,
                kind,
                actor=by,
                audience=Audience.ORGANIZERS if is_draft else audience,
                subjects={"round": round.number},
                **changes_of.changed(before, after, told),
            )
