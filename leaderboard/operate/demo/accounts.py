"""The demo's people. Their passwords are drawn anew for every installation."""

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction

from leaderboard.models import User
from leaderboard.platform.files import write_private

# Without letters and digits that look alike.
ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"
PASSWORD_LENGTH = 12


@dataclass(frozen=True)
class Person:
    """An account of the demo."""

    username: str
    role: str
    is_organizer: bool = False
    is_superuser: bool = False


PEOPLE = (
    Person("operator", "runs the site, pages under /admin/", is_superuser=True),
    Person("organizer", "runs both competitions, pages under /admin/", is_organizer=True),
    Person("alice", "a participant who has not joined anything yet"),
    Person("bob", "another participant"),
)


def ensure_people(keep_in: Path) -> None:
    """Make the accounts that are missing and note their passwords in the file, mode 0600."""
    names = set(User.objects.values_list("username", flat=True))
    missing = [person for person in PEOPLE if person.username not in names]
    if not missing:
        return
    with transaction.atomic():
        lines = [_create(person) for person in missing]
        known = keep_in.read_text() if keep_in.is_file() else ""
        write_private(keep_in, known + "\n".join(lines) + "\n")


def ensure_robot(number: int) -> User:
    """Return the account that submits for a baseline; nobody can sign in to it."""
    user, created = User.objects.get_or_create(username=f"baseline-{number}")
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def _create(person: Person) -> str:
    password = "".join(secrets.choice(ALPHABET) for _ in range(PASSWORD_LENGTH))
    User.objects.create_user(
        person.username,
        f"{person.username}@example.org",
        password,
        is_organizer=person.is_organizer,
        is_superuser=person.is_superuser,
        is_staff=person.is_superuser,
    )
    return f"{person.username:<10} {password}   {person.role}"
