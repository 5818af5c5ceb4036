"""The demo's people. Their passwords are drawn anew for every installation."""

import secrets
from pathlib import Path

from django.db import transaction

from leaderboard.models import User
from leaderboard.platform.files import write_private

# Without letters and digits that look alike.
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
PASSWORD_LENGTH = 12


OPERATOR = {"is_superuser": True, "is_staff": True}
# Names, what they do, and what they may.
PEOPLE: tuple[tuple[str, str, dict[str, bool]], ...] = (
    ("operator", "runs the site, pages under /admin/", OPERATOR),
    ("organizer", "runs both competitions, pages under /admin/", {"is_organizer": True}),
    ("alice", "a participant who has not joined anything yet", {}),
    ("bob", "another participant", {}),
)


def ensure_people(keep_in: Path) -> None:
    """Make the accounts that are missing and note their passwords in the file, mode 0600."""
    names = set(User.objects.values_list("username", flat=True))
    lines = [keep_in.read_text() if keep_in.is_file() else ""]
    with transaction.atomic():
        for name, role, rights in PEOPLE:
            if name not in names:
                password = "".join(secrets.choice(ALPHABET) for _ in range(PASSWORD_LENGTH))
                User.objects.create_user(name, f"{name}@example.org", password, **rights)
                lines.append(f"{name:<10} {password}   {role}\n")
        if len(lines) > 1:
            write_private(keep_in, "".join(lines))
