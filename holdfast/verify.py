"""Checking a competition's ledger on this machine, without trusting the server.

The hash chain is checked with the standard library alone. Everything that follows from the answers,
and after publication the answers themselves, needs the packages of `holdfast[science]`.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from holdfast import output
from holdfast.checking import Rules, download_sample, read_file, row_ids
from holdfast.connection import Connection, competition_path, connect
from holdfast.errors import INSTALL, Failure, TooLong
from holdfast.options import (
    EXISTING,
    Competition,
    CompetitionOption,
    Quiet,
    SampleOption,
    competition_of,
)

if TYPE_CHECKING:
    from holdfast.verify_log import Log
    from scoring.transparency.ledgers import LedgerCheck
    from scoring.verification.differences import Report
    from scoring.verification.ledgers import Header
    from scoring.verification.publications import Known

PACKAGES = ("numpy", "scipy", "pyarrow")
SAVE_COPY = "Save a copy of what you were given, with --save, and ask the organizer what happened."


@dataclass(frozen=True)
class _Server:
    """Where ledger, publications and sample come from; connected once one of them is needed."""

    slug: str
    folder: Path
    limit: int  # MB
    stack: ExitStack

    @cached_property
    def client(self) -> Connection:
        return self.stack.enter_context(connect())

    def fetch(self, what: str, name: str, *path: str | int, **params: str) -> Path:
        """Save a file of the competition in the folder; raise Failure if it is too large."""
        target, limit = self.folder / name, self.limit * 10**6
        try:
            self.client.save(competition_path(self.slug, *path), target, limit, **params)
        except TooLong:
            raise Failure(
                f"{what} has more than {output.size(limit)}. Nothing was kept.",
                hint="If the competition is that large, use --limit to accept more.",
            ) from None
        return target


@dataclass
class _Case:
    """What is verified: the ledger, publications by version, and own predictions by digest."""

    ledger: Path
    headers: list[Header]
    entries: int
    publications: dict[int, Path] = field(default_factory=dict)
    own: dict[str, Known] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def recall(self, entry: Mapping[str, Any], digest: str) -> Known | None:
        """Return an entry's predictions if they are one's own."""
        if digest in self.own:
            self.used.add(digest)
        return self.own.get(digest)


def verify(
    competition: Competition = None,
    option: CompetitionOption = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "-f", "--predictions", help="A file that you sent, to be scored again.", **EXISTING
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="A copy of the ledger, instead of the server's.", **EXISTING),
    ] = None,
    publication: Annotated[
        list[Path] | None,
        typer.Option(
            "--publication", help="A copy of a publication, instead of the server's.", **EXISTING
        ),
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option("--since", help="An earlier copy that must be unchanged.", **EXISTING),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="VKEY", help="The key of the public log, if you have it."),
    ] = None,
    witness: Annotated[
        list[str] | None,
        typer.Option(
            "--witness",
            metavar="VKEY|FILE",
            help="A witness's key, which must have signed the log, or its file of heads.",
        ),
    ] = None,
    sample: SampleOption = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Save the ledger as this file, for --since.", dir_okay=False),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="MB", min=1, help="The largest ledger or publication to download."
        ),
    ] = 1000,
    quiet: Quiet = False,
) -> None:
    """Verify a competition's ledger, boards and public log on this machine.

    After publication, every answer as well. Exits 1 at the first difference. Nothing is sent; the
    log's head is kept, so that the next time finds what was rewritten. Without the packages of the
    `science` extra, only hashes and receipts are checked.
    """
    if save and save.exists():
        raise Failure(f"{save} exists already.", hint="It may be a copy for --since: keep it.")
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing and (predictions or publication):
        raise Failure(
            f"Checking answers needs packages that aren't installed: {', '.join(missing)}.",
            hint=f"In a clone of Holdfast: {INSTALL}. "
            "Without -f and --publication, the hash chain is checked.",
        )
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        named = not ledger or competition or option
        slug = competition_of(competition, option) if named else ""
        server = _Server(slug, Path(folder), limit, stack)
        # The log first: what it has, everything that is read later must have as well.
        log = None if ledger else _read_log(server, key, witness)
        path = ledger or server.fetch("The ledger", "ledger.jsonl", "ledger", format="jsonl")
        if save:
            shutil.copyfile(path, save)
        observer = log.ledger if log else None
        chained = observer if missing else None
        case = _read_chain(path, slug, "The ledger differs.", SAVE_COPY, chained)
        kept = _since(since, case) if since else None
        source = None if ledger or missing else server
        case.publications = _publications(case, publication, source)
        _take_own(case, predictions or [], sample, server)
        report = None if missing else _recompute(case, observer)
        if log:
            log.compare(case.headers, whole=not missing)
    if missing:
        output.note(
            "Only the hash chain was checked, not the counts, budgets, widths and answers. For "
            f"these, run {INSTALL} in a clone of Holdfast."
        )
    if not quiet:
        _say(case, report, kept, log)


def _read_log(server: _Server, key: str | None, witnesses: list[str] | None) -> Log | None:
    from holdfast.verify_log import read_log  # so that other commands need not wait for it

    return read_log(server.client, server.slug, key, witnesses or [])


def _read_chain(
    path: Path, slug: str, problem: str, hint: str, observer: LedgerCheck | None = None
) -> _Case:
    """Check the chain of the competition, if one is named; raise Failure where it breaks."""
    from scoring.verification.differences import Differs
    from scoring.verification.ledgers import Header, bounded_lines, check_chain

    case = _Case(path, [], 0)
    with path.open("rb") as file:
        try:
            for item in check_chain(bounded_lines(file)):
                if isinstance(item, Header):
                    case.headers.append(item)
                    continue
                case.entries += 1
                if observer:
                    observer.took(case.headers[-1], item)
        except Differs as differs:
            raise Failure(f"{problem} {differs.difference}", hint=hint) from None
    found = case.headers[-1].competition
    if slug not in ("", found):
        raise Failure(f"{path.name} is the ledger of {found}, not of {slug}.")
    return case


def _since(earlier: Path, case: _Case) -> int:
    """Return the number of entries in the earlier copy, with which the ledger must begin."""
    from scoring.verification.differences import Differs
    from scoring.verification.ledgers import bounded_lines, check_since

    _read_chain(
        earlier,
        case.headers[-1].competition,
        f"{earlier.name} is not a complete copy of a ledger.",
        "This is not evidence against the server. Do you have another copy?",
    )
    with earlier.open("rb") as kept, case.ledger.open("rb") as now:
        try:
            return check_since(bounded_lines(kept), bounded_lines(now))
        except Differs as differs:
            raise Failure(
                f"The ledger does not begin with {earlier.name}. {differs.difference}",
                hint="Keep both copies: together they prove it. Ask the organizer what happened.",
            ) from None


def _recompute(case: _Case, observer: LedgerCheck | None) -> Report:
    """Compute again what follows from the answers and, where published, the answers themselves."""
    from scoring.verification.ledgers import bounded_lines
    from scoring.verification.run import verify as verify_ledger

    with ExitStack() as stack:
        lines = bounded_lines(stack.enter_context(case.ledger.open("rb")))
        files: dict[int, IO[bytes]] = {
            version: stack.enter_context(path.open("rb"))
            for version, path in case.publications.items()
        }
        report = verify_ledger(lines, files, case.recall if case.own else None, observer)
    if report.difference is not None:
        raise Failure(
            f"The ledger differs. {report.difference}",
            details=[f"Correct before it: {output.number(report.entries, 'entry', 'entries')}."],
            hint=SAVE_COPY,
        )
    return report


def _publications(case: _Case, given: list[Path] | None, server: _Server | None) -> dict[int, Path]:
    """Return the publications by version: those that were given, else the server's."""
    if given:
        if len(given) != len(case.headers):
            raise typer.BadParameter(
                f"the ledger has {len(case.headers)} versions of the solution; give a publication "
                "of each, in their order."
            )
        return {header.version: path for header, path in zip(case.headers, given, strict=True)}
    if server is None:
        return {}
    found, path = dict[int, Path](), competition_path(server.slug, "publications")
    for entry in islice(server.client.every(path), len(case.headers)):
        number = int(entry["version"])
        what, name = f"The publication of version {number}", f"publication-{number}.zip"
        found[number] = server.fetch(what, name, "publications", number)
        with found[number].open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != entry["sha256"]:
                raise Failure(f"{what} arrived damaged.", hint="Try again.")
    return found


def _take_own(case: _Case, files: list[Path], sample: Path | None, server: _Server) -> None:
    """Read the participant's files as the server did."""
    if not files:
        return
    from scoring.errors import ParameterError
    from scoring.predictions import Limits, Schema
    from scoring.verification.publications import Known

    if not case.publications:
        raise Failure(
            "Files can be scored again once solution and secret are published.",
            hint="The organizer may publish them after the end; until then, leave -f out.",
        )
    if sample is None and not server.slug:
        raise typer.BadParameter("give the sample submission with --sample, or the competition.")
    try:
        schema = Schema.from_json(case.headers[-1].holdout.get("schema"))
    except ParameterError as error:
        raise Failure(f"The ledger differs. schema: {error.message}", hint=SAVE_COPY) from None
    path = sample or download_sample(server.client, server.slug, server.folder)
    rules = Rules(schema, row_ids(path, schema), Limits())
    for file in files:
        found = read_file(file, rules)
        case.own[found.digest] = Known(found)


def _say(case: _Case, report: Report | None, kept: int | None, log: Log | None) -> None:
    """Report what was checked, and what could not be."""
    last = case.headers[-1]
    entries = output.number(case.entries, "entry", "entries")
    output.say(f"The hash chain of {last.competition} is whole: {entries}.", "bold")
    if kept is not None:
        output.say(f"Unchanged since the earlier copy: {output.number(kept, 'entry', 'entries')}.")
    if report is not None:
        _say_computed(case, report)
    if log is not None:
        log.say()
    output.say(f"Head of the chain: {last.head_hash or 'none yet'}")


def _say_computed(case: _Case, report: Report) -> None:
    output.say(f"{report.competition} is verified: counts, budgets, widths and shares are correct.")
    if report.recomputed:
        answers = output.number(report.recomputed, "answer", "answers")
        output.say(f"Recomputed from solution and secret: {answers}.")
    if report.lost:
        answers = output.number(report.lost, "answer", "answers")
        output.say(f"Taken as given, as the server has lost their files: {answers}.")
    if case.own:
        entries = output.number(report.measured, "entry", "entries")
        output.say(
            f"Of your different files, {len(case.used)} of {len(case.own)} are in the ledger and "
            f"were scored again ({entries})."
        )
    if len(case.used) < len(case.own):
        output.warn("A file that is not in the ledger was never scored, or has changed since.")
    if not case.publications:
        output.note(
            "Solution and secret are not published, so the answers can't be recomputed yet. Save a "
            "copy with --save; later, --since shows that nothing was rewritten."
        )
    for note in report.notes:
        output.note(note)
