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
from holdfast.connection import Connection, Json, competition_path, connect
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
    from holdfast.verify_log import Log, Read
    from scoring.transparency.ledgers import LedgerCheck
    from scoring.verification.differences import Report
    from scoring.verification.ledgers import Header
    from scoring.verification.publications import Known

DAMAGED = "Try again. If it stays so, the file was changed on the server: its SHA-256 is another."
KEEP_COPY = "It may be a copy for --since: keep it."
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
    """A ledger that is verified, its publications by version, and own predictions by digest.

    published: the hashes of publications, None where they were not downloaded. rounds: those
    that ask it, as the server lists them; none of a file. uid: its permanent id.
    name: what a message begins with where there are several ledgers. used: own predictions that are
    in the ledger, by team and submission.
    """

    ledger: Path
    uid: str = ""
    rounds: list[Json] = field(default_factory=list)
    name: str = ""
    headers: list[Header] = field(default_factory=list)
    entries: int = 0
    publications: dict[int, Path] = field(default_factory=dict)
    published: dict[int, str] | None = None
    own: dict[str, Known] = field(default_factory=dict)
    used: dict[tuple[str, int], str] = field(default_factory=dict)
    watch: LedgerCheck | None = None
    report: Report | None = None
    kept: int | None = None

    def recall(self, entry: Mapping[str, Any], digest: str) -> Known | None:
        """Return an entry's predictions if they are one's own."""
        if digest in self.own:
            self.used[entry["team"], entry["submission"]] = digest
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
        list[Path] | None,
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
    accept_restored: Annotated[
        bool,
        typer.Option(
            "--accept-restored",
            help="Accept that a restored backup lost what your receipts say.",
        ),
    ] = False,
    sample: SampleOption = None,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            help="Save the ledger as this file, for --since; further ledgers, of other rounds, as "
            "files beside it.",
            dir_okay=False,
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="MB", min=1, help="The largest ledger or publication to download."
        ),
    ] = 1000,
    quiet: Quiet = False,
) -> None:
    """Verify a competition's ledgers, boards and public log on this machine: of all its rounds.

    After publication, every answer as well. Exits 1 at the first difference. Nothing is sent; the
    log's head is kept, so that the next time finds what was rewritten. Without the packages of the
    `science` extra, only hashes and receipts are checked.
    """
    if save and save.exists():
        raise Failure(f"{save} exists already.", hint=KEEP_COPY)
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
        log = None if ledger else _read_log(server, key, witness, accept_restored)
        facts = {} if ledger else server.client.get(competition_path(slug))
        cases = [_Case(ledger)] if ledger else _fetch_ledgers(server, facts)
        _save(cases, save)
        _read_chains(cases, slug, log, hashes_alone=bool(missing))
        _compare_since(cases, since or [])
        _find_publications(cases, publication, None if ledger or missing else server)
        _take_own(cases, predictions or [], sample, server)
        for case in () if missing else cases:
            case.report = _recompute(case)
        if log:
            log.compare(facts, [_as_read(case) for case in cases], whole=not missing)
    if missing:
        output.note(
            "Only the hash chain was checked, not the counts, budgets, widths and answers. For "
            f"these, run {INSTALL} in a clone of Holdfast."
        )
    if not quiet:
        _say(cases, log)


def _fetch_ledgers(server: _Server, facts: Json) -> list[_Case]:
    """Download the ledger of each of the competition's rounds; several rounds may share one."""
    by_uid = dict[str, list[Json]]()
    for round in facts["rounds"]:
        if round["ledger"]:
            by_uid.setdefault(round["ledger"], []).append(round)
    cases = list[_Case]()
    for uid, rounds in by_uid.items():
        number = rounds[-1]["number"]
        asked = {"format": "jsonl", "round": str(number)}
        path = server.fetch("The ledger", f"ledger-{number}.jsonl", "ledger", **asked)
        numbers = " and ".join(str(each["number"]) for each in rounds)
        several = f"Round{'s' if len(rounds) > 1 else ''} {numbers}: "
        cases.append(_Case(path, uid, rounds, several if len(by_uid) > 1 else ""))
    if not cases:
        raise Failure(f"{server.slug} has no ledger yet.", hint="It begins with its first round.")
    return cases


def _read_chains(cases: list[_Case], slug: str, log: Log | None, *, hashes_alone: bool) -> None:
    for case in cases:
        case.watch = log.watch() if log else None
        problem = f"{case.name}The ledger differs."
        _read_chain(case, slug, problem, SAVE_COPY, case.watch if hashes_alone else None)


def _save(cases: list[_Case], path: Path | None) -> None:
    """Keep copies of the ledgers: the first one as the path, others with their round's number."""
    if path is None:
        return
    for case in cases:
        target = path
        if case is not cases[0]:
            target = path.with_stem(f"{path.stem}-round{case.rounds[-1]['number']}")
        if target.exists():
            raise Failure(f"{target} exists already.", hint=KEEP_COPY)
        shutil.copyfile(case.ledger, target)


def _as_read(case: _Case) -> Read:
    """Return what the log is compared with."""
    from holdfast.verify_log import Read

    assert case.watch is not None  # noqa: S101  (there is a log)
    own = {key: case.own[digest].predictions for key, digest in case.used.items()}
    return Read(case.uid, case.rounds, case.watch, own, case.published)


def _read_log(
    server: _Server, key: str | None, witnesses: list[str] | None, accept_restored: bool
) -> Log | None:
    from holdfast.verify_log import read_log  # so that other commands need not wait for it

    return read_log(
        server.client, server.slug, key, witnesses or [], accept_restored=accept_restored
    )


def _read_chain(
    case: _Case, slug: str, problem: str, hint: str, observer: LedgerCheck | None = None
) -> None:
    """Check the chain of the competition, if one is named; raise Failure where it breaks."""
    from scoring.verification.differences import Differs
    from scoring.verification.ledgers import Header, bounded_lines, check_chain

    with case.ledger.open("rb") as file:
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
        raise Failure(f"{case.ledger.name} is the ledger of {found}, not of {slug}.")


def _compare_since(cases: list[_Case], copies: list[Path]) -> None:
    """Check that each ledger begins with its earlier copy, which is known by its first rows."""
    for path in copies:
        earlier = _Case(path)
        _read_chain(
            earlier,
            cases[0].headers[-1].competition,
            f"{path.name} is not a complete copy of a ledger.",
            "This is not evidence against the server. Do you have another copy?",
        )
        begun = earlier.headers[0].holdout.get("solution_commitment")
        same = (c for c in cases if c.headers[0].holdout.get("solution_commitment") == begun)
        # One alone is compared in any case: it may have been begun anew.
        case = next(same, cases[0] if len(cases) == 1 else None)
        if case is None:
            raise Failure(
                f"No ledger that the server shows begins with the solution of {path.name}.",
                hint="Keep the copy: it is evidence. Ask the organizer what happened.",
            )
        case.kept = _since(path, case)


def _since(path: Path, case: _Case) -> int:
    """Return the number of entries in the earlier copy, with which the ledger must begin."""
    from scoring.verification.differences import Differs
    from scoring.verification.ledgers import bounded_lines, check_since

    with path.open("rb") as kept, case.ledger.open("rb") as now:
        try:
            return check_since(bounded_lines(kept), bounded_lines(now))
        except Differs as differs:
            raise Failure(
                f"{case.name}The ledger does not begin with {path.name}. {differs.difference}",
                hint="Keep both copies: together they prove it. Ask the organizer what happened.",
            ) from None


def _recompute(case: _Case) -> Report:
    """Compute again what follows from the answers and, where published, the answers themselves."""
    from scoring.verification.ledgers import bounded_lines
    from scoring.verification.run import verify as verify_ledger

    with ExitStack() as stack:
        lines = bounded_lines(stack.enter_context(case.ledger.open("rb")))
        files: dict[int, IO[bytes]] = {
            version: stack.enter_context(path.open("rb"))
            for version, path in case.publications.items()
        }
        report = verify_ledger(lines, files, case.recall if case.own else None, case.watch)
    if report.difference is not None:
        raise Failure(
            f"{case.name}The ledger differs. {report.difference}",
            details=[f"Correct before it: {output.number(report.entries, 'entry', 'entries')}."],
            hint=SAVE_COPY,
        )
    return report


def _find_publications(
    cases: list[_Case], given: list[Path] | None, server: _Server | None
) -> None:
    """Find the publications of each version: those that were given, else the server's."""
    headers = [(case, header) for case in cases for header in case.headers]
    if given and len(given) != len(headers):
        raise typer.BadParameter(
            f"there are {len(headers)} versions of the solution; give a publication of each, in "
            "their order."
        )
    for (case, header), path in zip(headers, given or (), strict=False):
        case.publications[header.version] = path
    if server is not None and not given:
        for case in cases:
            _download_publications(case, server)


def _download_publications(case: _Case, server: _Server) -> None:
    round, path = case.rounds[-1]["number"], competition_path(server.slug, "publications")
    case.published = {}
    for entry in islice(server.client.every(path, round=round), len(case.headers)):
        number = int(entry["version"])
        what = f"{case.name}The publication of version {number}"
        name = f"publication-{round}-{number}.zip"
        found = server.fetch(what, name, "publications", number, round=str(round))
        case.publications[number] = found
        with found.open("rb") as file:
            case.published[number] = hashlib.file_digest(file, "sha256").hexdigest()
            if case.published[number] != entry["sha256"]:
                raise Failure(f"{what} arrived damaged.", hint=DAMAGED)


def _take_own(cases: list[_Case], files: list[Path], sample: Path | None, server: _Server) -> None:
    """Read the participant's files as the server did, for the ledger whose rows they have."""
    if not files:
        return
    from scoring.verification.publications import Known

    published = [case for case in cases if case.publications]
    if not published:
        raise Failure(
            "Files can be scored again once solution and secret are published.",
            hint="The organizer may publish them after the end; until then, leave -f out.",
        )
    if sample is None and not server.slug:
        raise typer.BadParameter("give the sample submission with --sample, or the competition.")
    path = sample or download_sample(server.client, server.slug, server.folder)
    rules = [(case, _rules(case, path, alone=len(published) == 1)) for case in published]
    if not any(each for _, each in rules):
        raise Failure(
            f"{path.name} has the rows of no round that is published.",
            hint="Name the sample submission of the round that the files were sent to: --sample.",
        )
    for case, of_rows in rules:
        found = [read_file(file, of_rows) for file in files] if of_rows else []
        case.own = {read.digest: Known(read) for read in found}


def _rules(case: _Case, sample: Path, *, alone: bool) -> Rules | None:
    """Return how files are read for a ledger; None if the sample has other rows than it asks.

    alone: there is no other ledger that it could be for.
    """
    from scoring.errors import ParameterError
    from scoring.predictions import Limits, Schema

    facts = case.headers[-1].holdout
    try:
        schema = Schema.from_json(facts.get("schema"))
        ids = row_ids(sample, schema)
    except ParameterError as error:
        problem = f"{case.name}The ledger differs. schema: {error.message}"
        raise Failure(problem, hint=SAVE_COPY) from None
    except Failure:
        if alone:
            raise
        return None
    is_same = alone or ids.digest == facts.get("row_ids_digest")
    return Rules(schema, ids, Limits()) if is_same else None


def _say(cases: list[_Case], log: Log | None) -> None:
    """Report what was checked, and what could not be."""
    for case in cases:
        last = case.headers[-1]
        entries = output.number(case.entries, "entry", "entries")
        chain = f"{case.name}The hash chain of {last.competition} is whole: {entries}."
        output.say(chain, "bold")
        if case.kept is not None:
            kept = output.number(case.kept, "entry", "entries")
            output.say(f"Unchanged since the earlier copy: {kept}.")
        if case.report is not None:
            _say_computed(case, case.report)
        output.say(f"Head of the chain: {last.head_hash or 'none yet'}")
    if log is not None:
        log.say()


def _say_computed(case: _Case, report: Report) -> None:
    output.say(f"{report.competition} is verified: counts, budgets, widths and shares are correct.")
    if report.recomputed:
        answers = output.number(report.recomputed, "answer", "answers")
        output.say(f"Recomputed from solution and secret: {answers}.")
    if report.lost:
        answers = output.number(report.lost, "answer", "answers")
        output.say(f"Taken as given, as the server has lost their files: {answers}.")
    used = len(set(case.used.values()))
    if case.own:
        entries = output.number(report.measured, "entry", "entries")
        output.say(
            f"Of your different files, {used} of {len(case.own)} are in the ledger and "
            f"were scored again ({entries})."
        )
    if used < len(case.own):
        output.warn("A file that is not in the ledger was never scored, or has changed since.")
    if not case.publications:
        output.note(
            "Solution and secret are not published, so the answers can't be recomputed yet. Save a "
            "copy with --save; later, --since shows that nothing was rewritten."
        )
    for note in report.notes:
        output.note(note)
