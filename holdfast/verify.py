"""Checking a competition's ledger on this machine: nobody has to trust the server for it."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from holdfast import output
from holdfast.check import Rules, download_sample, parser, read, row_ids
from holdfast.client import Client, competition_path
from holdfast.errors import Failure, TooLong
from holdfast.options import Competition, CompetitionOption, Quiet, competition_of
from holdfast.session import connect

if TYPE_CHECKING:
    from scoring.verification import Header, Known, Report

_FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}
PredictionsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "-f", "--predictions", help="A file that you sent, to be measured again.", **_FILE
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option("--ledger", help="A copy of the ledger, instead of the server's.", **_FILE),
]
OpeningOption = Annotated[
    list[Path] | None,
    typer.Option("--opening", help="A copy of an opening, instead of the server's.", **_FILE),
]
SinceOption = Annotated[
    Path | None,
    typer.Option("--since", help="An earlier copy, of which nothing may have changed.", **_FILE),
]
SampleOption = Annotated[
    Path | None, typer.Option("--sample", help="The sample submission, if it is here.", **_FILE)
]
LimitOption = Annotated[
    int,
    typer.Option(
        "--limit",
        metavar="MIB",
        min=1,
        help="The most to download, for ledger and each opening.",
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option("--save", help="Keep the ledger as this file, for --since.", dir_okay=False),
]


@dataclass
class _Case:
    """What is verified: the ledger's file, openings by version, and own predictions by digest."""

    ledger: Path
    headers: list[Header]
    openings: dict[int, Path]
    own: dict[str, Known] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def recall(self, entry: Mapping[str, Any], digest: str) -> Known | None:
        """The predictions of an entry, if they are one's own."""
        if digest in self.own:
            self.used.add(digest)
        return self.own.get(digest)


def verify(
    competition: Competition = None,
    option: CompetitionOption = None,
    predictions: PredictionsOption = None,
    ledger: LedgerOption = None,
    opening: OpeningOption = None,
    since: SinceOption = None,
    sample: SampleOption = None,
    save: SaveOption = None,
    limit: LimitOption = 1024,
    quiet: Quiet = False,
) -> None:
    """Verify a competition's ledger on this machine, and every answer once solution and secret are
    open.

    Nothing is sent or kept, unless --save names a file. Exits 1 at the first thing that differs.
    """
    if save and save.exists():
        raise Failure(f"{save} is there already.", hint="Earlier copies are for --since: keep it.")
    with (
        parser("scoring.verification"),
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        slug = (
            None if ledger and not (competition or option) else competition_of(competition, option)
        )
        client, place = _Lazy(stack), _Place(Path(folder), limit)
        path = ledger or _download_ledger(client(), slug or "", place)
        if save:
            shutil.copyfile(path, save)
        kept = _since(since, path) if since else None
        case = _Case(path, _headers(path), {})
        case.openings = _openings(case, opening, None if ledger else client, slug, place)
        if predictions:
            _take_own(case, predictions, _sample(sample, client, slug, place.folder))
        report = _report(case)
        _check_slug(report, slug)
    if not quiet:
        _say(report, case, kept, predictions or [])


class _Lazy:
    """The server, when it is needed for the first time."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._client: Client | None = None

    def __call__(self) -> Client:
        if self._client is None:
            self._client = self._stack.enter_context(connect())
        return self._client


@dataclass(frozen=True)
class _Place:
    """Where downloads go, and the most that each may have, in MiB."""

    folder: Path
    limit: int

    def save(self, client: Client, path: str, name: str, what: str, **params: str) -> Path:
        """What is at the path, as a file of this name; Failure if it is too long."""
        target = self.folder / name
        try:
            client.save(path, target, self.limit * 2**20, **params)
        except TooLong:
            raise Failure(
                f"{what} has more than {self.limit:,} MiB. Nothing was kept.",
                hint="If the competition is that large, say how much to take with --limit.",
            ) from None
        return target


def _download_ledger(client: Client, slug: str, place: _Place) -> Path:
    path = competition_path(slug, "ledger")
    return place.save(client, path, "ledger.jsonl", "The ledger", format="jsonl")


def _since(earlier: Path, path: Path) -> int:
    """How many entries the earlier copy has; Failure if the ledger does not begin with them."""
    from scoring.verification import Differs, bounded_lines, check_chain, check_since

    with earlier.open("rb") as kept:
        try:
            for _ in check_chain(bounded_lines(kept)):
                pass
        except Differs as differs:
            raise Failure(
                f"{earlier.name} is no whole copy of a ledger. {differs.difference}",
                hint="It says nothing about the server. Is there another copy?",
            ) from None
    with earlier.open("rb") as kept, path.open("rb") as now:
        try:
            return check_since(bounded_lines(kept), bounded_lines(now))
        except Differs as differs:
            raise Failure(
                f"The ledger does not begin with {earlier.name}. {differs.difference}",
                hint=_KEEP,
            ) from None


_KEEP = "Keep both copies: together they show it. Ask the organizer what happened."
_SAVE = "Keep a copy of what you were given, with --save, and ask the organizer what happened."


def _headers(path: Path) -> list[Header]:
    from scoring.verification import Differs, Header, bounded_lines, check_chain

    with path.open("rb") as file:
        try:
            chain = check_chain(bounded_lines(file))
            return [item for item in chain if isinstance(item, Header)]
        except Differs as differs:
            raise Failure(f"The ledger differs. {differs.difference}", hint=_SAVE) from None


def _openings(
    case: _Case,
    given: list[Path] | None,
    client: Callable[[], Client] | None,
    slug: str | None,
    place: _Place,
) -> dict[int, Path]:
    """The openings of the ledger's versions that are there: those that were given, else the
    server's."""
    if given:
        if len(given) != len(case.headers):
            raise typer.BadParameter(
                f"the ledger has {len(case.headers)} versions of the solution; give an opening of "
                "each, in their order."
            )
        return {header.version: path for header, path in zip(case.headers, given, strict=True)}
    if client is None or slug is None:
        return {}
    offered = client().every(competition_path(slug, "openings"))
    found = {}
    for entry in islice(offered, len(case.headers)):
        number = int(entry["version"])
        path = competition_path(slug, "openings", number)
        what = f"The opening of version {number}"
        found[number] = place.save(client(), path, f"opening-{number}.zip", what)
        with found[number].open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                raise Failure("The opening arrived damaged.", hint="Try it again.")
    return found


def _sample(
    given: Path | None, client: Callable[[], Client], slug: str | None, folder: Path
) -> Path:
    if given:
        return given
    if slug is None:
        raise typer.BadParameter("give the sample submission with --sample, or the competition.")
    return download_sample(client(), slug, folder)


def _take_own(case: _Case, files: list[Path], sample: Path) -> None:
    """Reads the participant's files as the server did."""
    from scoring.errors import ParameterError
    from scoring.predictions import Limits, Schema
    from scoring.verification import Known

    if not case.openings:
        raise Failure(
            "Files can be measured again once solution and secret are open.",
            hint="The organizer may open them after the end; until then, leave -f out.",
        )
    try:
        schema = Schema.from_json(case.headers[-1].scoring.get("schema"))
    except ParameterError as error:
        raise Failure(f"The ledger differs. schema: {error.message}", hint=_KEEP) from None
    rules = Rules(schema, row_ids(sample, schema), Limits())
    for file in files:
        found = read(file, rules)
        case.own[found.digest] = Known(found)


def _report(case: _Case) -> Report:
    from scoring.verification import bounded_lines
    from scoring.verification import verify as verify_ledger

    with ExitStack() as stack:
        lines = bounded_lines(stack.enter_context(case.ledger.open("rb")))
        openings: dict[int, IO[bytes]] = {
            version: stack.enter_context(path.open("rb")) for version, path in case.openings.items()
        }
        report = verify_ledger(lines, openings, case.recall if case.own else None)
    if report.difference is not None:
        raise Failure(
            f"The ledger differs. {report.difference}",
            details=[f"{report.entries:,} entries before it are as they should be."],
            hint=_SAVE,
        )
    return report


def _check_slug(report: Report, slug: str | None) -> None:
    if slug is not None and report.competition != slug:
        raise Failure(f"This is the ledger of {report.competition}, not of {slug}.")


def _say(report: Report, case: _Case, kept: int | None, files: list[Path]) -> None:
    output.say(f"{report.competition} is verified: {report.entries:,} entries.", "bold")
    output.say(
        "Chain and numbering are whole; counts, budgets, widths and shares are as they follow."
    )
    if kept is not None:
        output.say(f"The {kept:,} entries of the earlier copy are unchanged.")
    if report.recomputed:
        output.say(f"{report.recomputed:,} answers were drawn again from solution and secret.")
    if report.lost:
        output.say(f"{report.lost:,} answers are taken as said: the server has lost their files.")
    if case.own:
        entries = "1 entry" if report.measured == 1 else f"{report.measured:,} entries"
        output.say(
            f"Of your different files {len(case.used)} of {len(case.own)} were found in it and "
            f"measured again ({entries})."
        )
    if len(case.used) < len(case.own):
        output.warn("A file that is not in it was never scored, or had other predictions.")
    if not case.openings:
        output.note(
            "Solution and secret are not open: what the answers were drawn from can't be checked "
            "yet. Keep a copy with --save; later, --since shows that nothing was rewritten."
        )
    for note in report.notes:
        output.note(note)
    output.say(f"Head of the chain: {report.head_hash or 'none yet'}")
