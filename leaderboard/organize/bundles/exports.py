"""Writing a competition as a bundle: settings, columns, scoring, texts and public files.

The solution is sealed, so it is not among them; people, submissions and ledger are an archive's.
"""

from typing import IO, Any, Final

from django.db import transaction

from bundles.bundle import (
    ROUND_SETTINGS,
    BoardPart,
    Bundle,
    FilePart,
    RoundPart,
    write_bundle,
)
from bundles.folders import Folder, why_bad_name, write_zip
from leaderboard.access import Right, check_right
from leaderboard.models import Audience, Board, Competition, CompetitionFile, EventKind, Round, User
from leaderboard.notify import events
from leaderboard.platform.files import open_stored
from leaderboard.platform.scratch import scratch_file

SETTINGS: Final = ("title", "tagline", "visibility", "team_size")
PAGES: Final = {"overview": "description", "rules": "rules", "data": "data_description"}
_BOARD: Final = (*("metric", "metric_parameters", "mechanism", "mechanism_parameters", "title"),)


def export(competition: Competition, *, by: User | None) -> IO[bytes]:
    """Return the competition's bundle as an open zip file."""
    check_right(by, competition, Right.EDIT)
    file = scratch_file()
    write_zip(file, write_bundle(describe(competition)))
    file.seek(0)
    with transaction.atomic():
        events.record(
            competition, EventKind.EXPORTED, actor=by, audience=Audience.ORGANIZERS, what="bundle"
        )
    return file


def describe(competition: Competition) -> Bundle:
    """Return the competition as a bundle, whose files are read from the storage."""
    stored, taken = dict[str, CompetitionFile](), set[str]()
    rounds = list[RoundPart]()
    for round in competition.rounds.prefetch_related("boards", "files").order_by("number"):
        files = list[FilePart]()
        for entry in round.files.all():
            path = _path(round, entry, taken)
            stored[path] = entry
            files.append(FilePart(path, entry.role, entry.description))
        rounds.append(
            RoundPart(
                boards=tuple(map(_board, round.boards.all())),
                title=round.title,
                continues=round.continues_id is not None,
                # One that was closed early is to last as long as was announced.
                settings={name: getattr(round, name) for name in ROUND_SETTINGS}
                | {"closes_at": round.announced_closes_at or round.closes_at},
                columns=None if round.continues_id else round.schema or None,
                files=tuple(files),
            )
        )
    return Bundle(
        slug=competition.slug,
        settings={name: getattr(competition, name) for name in SETTINGS},
        texts={page: getattr(competition, name) for page, name in PAGES.items()},
        rounds=tuple(rounds),
        folder=Folder({path: each.size for path, each in stored.items()}, _reader(stored)),
    )


def _reader(stored: dict[str, CompetitionFile]) -> Any:
    def read(path: str) -> bytes:
        with open_stored(stored[path].file.name) as file:
            return file.read()

    return read


def _path(round: Round, entry: CompetitionFile, taken: set[str]) -> str:
    """Return where a file is in the bundle; names that differ by case alone have own folders."""
    folder = "data" if round.number == 1 else f"round-{round.number}"
    path = f"{folder}/{entry.name}"
    if why_bad_name(path):
        path = f"{folder}/file-{entry.pk}"
    while path.casefold() in taken:
        folder = f"{folder}/more"
        path = f"{folder}/{entry.name}"
    taken.add(path.casefold())
    return path


def _board(board: Board) -> BoardPart:
    return BoardPart(**{name: getattr(board, name) for name in _BOARD})
