"""Sessions in the database, as Django's own, but for how one is found: every page asks for one."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils import timezone

from leaderboard.platform.statements import prepared


class SessionStore(db.SessionStore):
    """A session; `SESSION_ENGINE` names this module."""

    def __init__(self, session_key: str | None = None) -> None:
        # Anything may stand in a cookie, also a NUL, on which PostgreSQL would fail.
        super().__init__(session_key if session_key and session_key.isalnum() else None)

    def _get_session_from_db(self) -> Session | None:
        for found in _sessions(key=self.session_key or ""):
            if found.expire_date > timezone.now():
                return found
        self._session_key = None
        return None


@prepared
def _sessions(key: str) -> QuerySet[Session]:
    return Session.objects.filter(session_key=key)
