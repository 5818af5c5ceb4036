"""Public files on their way: uploaded once, to the disk, before the form that they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from django.core.files.base import File
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.models import StagedFile, User
from leaderboard.organize.files import check_file_name, delete_stored, digest_of
from leaderboard.organize.people import may_organize_at_all

KEPT: Final = timedelta(days=1)
MOST: Final = 8  # of one person


def stage(file: File[bytes], *, by: User) -> StagedFile:
    """Keep a public file for a form that comes later, for a day. Raises Refused."""
    if not may_organize_at_all(by):
        raise Refused("not_allowed", variant="organizer")
    name = check_file_name(file)
    if not file.size:
        raise Refused("file_empty")
    _drop_old(by)
    return StagedFile.objects.create(
        user=by,
        name=name,
        sha256=digest_of(file),
        size=file.size,
        file=File(file, name=name),
    )


def find_staged(by: User, uids: Iterable[str]) -> Mapping[str, StagedFile]:
    """Return the person's staged files of these ids, by id."""
    return {each.uid: each for each in StagedFile.objects.filter(user=by, uid__in=list(uids))}


def _drop_old(by: User) -> None:
    """Forget what nobody came back for, and all but the newest files of this person."""
    old = StagedFile.objects.filter(created_at__lt=timezone.now() - KEPT)
    newest = StagedFile.objects.filter(user=by).order_by("-created_at", "-pk")
    for each in {*old, *newest[MOST - 1 :]}:
        delete_stored(each.file)
        each.delete()
