"""Who may join beside those who were invited: the join code, and domains of mail addresses."""

import re
import secrets
from collections.abc import Collection
from typing import Any, Final

from django.db import transaction

from leaderboard.errors import Refused
from leaderboard.models import Audience, Competition, EventKind, MailDomain, User
from leaderboard.notify import events
from leaderboard.organize.changes import changed
from leaderboard.organize.invitations import lock, shorten

# Without letters and digits that are taken for each other.
_ALPHABET: Final = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
_PART: Final = 5
_MOST_DOMAINS: Final = 100
_LABEL: Final = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_DOMAIN: Final = re.compile(rf"({_LABEL}\.)+{_LABEL}")


def renew_join_code(competition: Competition, *, by: User | None) -> str:
    """Draw a new join code and return it; one before it is good for nothing any more."""
    code = "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_PART)) for _ in range(2))
    _write_code(competition, code, by)
    return code


def switch_off_join_code(competition: Competition, *, by: User | None) -> None:
    """Take the join code away: nobody needs one, and nobody gets in by one."""
    _write_code(competition, "", by)


def change_mail_domains(
    competition: Competition, domains: Collection[str], *, by: User | None
) -> None:
    """Let only confirmed addresses of these domains join; none: all may. Raises Refused."""
    given = {each.strip().lower().lstrip("@").rstrip(".") for each in domains} - {""}
    wrong = [each for each in sorted(given) if len(each) > 253 or not _DOMAIN.fullmatch(each)]
    if wrong:
        raise Refused("invalid", field="domains", variant="bad_domains", names=shorten(wrong))
    if len(given) > _MOST_DOMAINS:
        raise Refused("invalid", field="domains", variant="too_many_domains", limit=_MOST_DOMAINS)
    with transaction.atomic():
        locked = lock(competition, by)
        before = set(locked.mail_domains.values_list("domain", flat=True))
        if given == before:
            return
        locked.mail_domains.exclude(domain__in=given).delete()
        MailDomain.objects.bulk_create(
            MailDomain(competition=locked, domain=each) for each in sorted(given - before)
        )
        _record(locked, by, **changed({"domains": sorted(before)}, {"domains": sorted(given)}))


def _write_code(competition: Competition, code: str, by: User | None) -> None:
    with transaction.atomic():
        locked = lock(competition, by)
        if code or locked.join_code:
            state = "renewed" if locked.join_code and code else "on" if code else "off"
            locked.join_code = code
            locked.save(update_fields=["join_code"])
            _record(locked, by, join_code=state)
    competition.join_code = code


def _record(competition: Competition, by: User | None, **facts: Any) -> None:
    events.record(
        competition,
        EventKind.ACCESS_CHANGED,
        actor=by,
        audience=Audience.ORGANIZERS,
        **facts,
    )
