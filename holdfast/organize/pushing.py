"""Sending what changed in a folder, so that a competition can be kept in git and deployed.

The folder is a bundle: `holdfast.yaml`, texts, data, solution. What is on the server already is
not sent again, so that pushing twice changes nothing the second time. A sealed solution can't be
compared with a file: it is sent where none is sealed, or where it is asked for.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from bundles.bundle import NAME, BoardPart, Bundle, FilePart, RoundPart, read_bundle
from bundles.errors import BundleError
from bundles.folders import open_directory
from holdfast import options, output
from holdfast.connection import Connection, Json, connect
from holdfast.errors import Failure, Refused
from holdfast.options import competition_of
from holdfast.organize.bundles import explain
from holdfast.organize.commands import organize_path
from holdfast.organize.folders import Folder, send_solution
from holdfast.output import Format

PAGES = {"overview": "description", "rules": "rules", "data": "data_description"}
LISTS = ("labels", "ranking")
NOT_FOUND = 404
DIFFERS = 3  # the exit code of a dry run that would change something


@dataclass(frozen=True)
class Change:
    """Something that is to be sent. `sign` is +, ~ or -; `of_draft`: it takes a draft."""

    sign: str
    what: str
    detail: str
    send: Callable[[Connection], object]
    of_draft: bool = False

    def __str__(self) -> str:
        return f"{self.sign} {self.what}{': ' * bool(self.detail)}{self.detail}"


def push(
    folder: Folder,
    slug: Annotated[str, typer.Option("--slug", help="Another short name than the folder's.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; exit 3 where something would change.")
    ] = False,
    solution: Annotated[
        bool, typer.Option("--solution", help="Send the solution though one is sealed.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove files that the folder doesn't have.")
    ] = False,
    ask_again: Annotated[
        bool, typer.Option("--ask-again", help="Let members accept the changed rules again.")
    ] = False,
    open_it: Annotated[bool, typer.Option("--open", help="Open the draft afterwards.")] = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Send what changed in a folder with a holdfast.yaml; done again, it changes nothing.

    Without the competition a draft is made. What participants rely on is fixed while it is open: a
    push that would change it is refused before anything is sent.
    """
    bundle = read_folder(folder)
    name = competition_of(slug or bundle.slug, None)
    with connect() as client:
        pusher = Pusher(client, name, folder, bundle)
        state = pusher.state()
        changes = list(pusher.changes(state, solution=solution, prune=prune, ask_again=ask_again))
        if open_it and (state is None or state["opened_at"] is None):
            changes.append(Change("~", "phase", "draft → open", pusher.open))
        _refuse_fixed(state, changes)
        done = list[Change]()
        for change in () if dry_run else changes:
            try:
                change.send(client)
            except Refused as refused:
                raise _stopped(refused, change, done) from None
            done.append(change)
    _report(name, changes, dry_run, style)
    if dry_run and changes:
        raise typer.Exit(DIFFERS)


def read_folder(folder: Path) -> Bundle:
    """Return the competition of a folder. Raises Failure with all that is wrong."""
    if not (folder / NAME).is_file():
        raise Failure(
            f"{folder} has no {NAME}.", hint=f"`holdfast organize init {folder}` writes one."
        )
    try:
        bundle = read_bundle(open_directory(folder))
    except BundleError as error:
        raise explain(folder, error) from None
    if len(bundle.rounds) > 1 or len(bundle.rounds[0].boards) > 1:
        raise Failure(
            f"{folder / NAME} has several rounds or boards; a push sends one round with one board.",
            hint="`holdfast organize import` takes the folder whole, as a zip archive.",
        )
    return bundle


@dataclass(frozen=True)
class Pusher:
    """A folder, and the competition on a server that it is compared with."""

    client: Connection
    slug: str
    folder: Path
    bundle: Bundle

    @property
    def round(self) -> RoundPart:
        return self.bundle.rounds[0]

    @property
    def board(self) -> BoardPart:
        return self.round.boards[0]

    def state(self) -> Json | None:
        """Return the competition as the server has it; None without one."""
        try:
            return self.client.get(organize_path(self.slug))
        except Refused as refused:
            if refused.status == NOT_FOUND:
                return None
            raise

    def changes(
        self, state: Json | None, *, solution: bool, prune: bool, ask_again: bool
    ) -> Iterator[Change]:
        """Yield what differs, in the order in which it can be sent."""
        if state is None:
            wished = {name: _plain(value) for name, value in self.settings().items()}
            body = {"slug": self.slug, "title": self.slug} | wished
            yield Change("+", self.slug, "a new draft", self._sender("POST", json=body, whole=True))
        else:
            yield from self._of_settings(state, ask_again)
        columns = None if state is None else state["columns"]
        new_columns = self.round.columns is not None and _columns(columns) != _columns(
            self.round.columns
        )
        if new_columns:
            put = self._sender("PUT", "columns", json=self.round.columns)
            yield Change(_sign(columns), "columns", self._headers(columns), put, of_draft=True)
        is_sealed = state is not None and state["solution"] is not None
        files = list(self._of_files(state, is_sealed=is_sealed, prune=prune))
        scoring = list(self._of_scoring(state))
        resealed = any(each.what in ("metric", "solution") for each in (*files, *scoring))
        yield from files
        yield from scoring
        proposed = list(self._propose()) if scoring and not self.board.mechanism else []
        yield from proposed  # the metric's own values, which labels are checked by
        if self.round.solution and (solution or not is_sealed or new_columns or resealed):
            yield self._seal(is_sealed)
            yield from proposed  # and those that depend on how many rows there are

    def settings(self) -> Json:
        """Return the settings that the folder tells, by the API's names."""
        texts = {PAGES[page]: text.strip() for page, text in self.bundle.texts.items()}
        times = ("opens_at", "closes_at")
        of_round = {
            name: value
            for name, value in self.round.settings.items()
            if value is not None or name != times[0]
        }
        return self.bundle.settings | texts | of_round

    def open(self, client: Connection) -> object:
        """Open the draft."""
        return client.send("POST", organize_path(self.slug, "open"), json={})

    def _of_settings(self, state: Json, ask_again: bool) -> Iterator[Change]:
        changed = {
            name: value for name, value in self.settings().items() if not _same(state[name], value)
        }
        if not changed:
            return
        body = {name: _plain(value) for name, value in changed.items()}
        body |= {"ask_again": True} if ask_again and "rules" in changed else {}
        # They are sent together, all or nothing: by the first of them.
        send = self._sender("PATCH", json=body)
        for name, value in changed.items():
            yield Change("~", name, _difference(state[name], value), send)
            send = _nothing

    def _of_files(self, state: Json | None, *, is_sealed: bool, prune: bool) -> Iterator[Change]:
        path = organize_path(self.slug, "files")
        there = {each["name"]: each for each in self.client.every(path)} if state else {}
        for part in self.round.files:
            name = part.path.rpartition("/")[2]
            content = self.bundle.folder.read(part.path)
            known = there.pop(name, None)
            if known is not None and _is_known(known, part, content):
                continue
            of_draft = part.role == "sample" or (known or {}).get("role") == "sample"
            if of_draft and is_sealed:
                is_sealed = False
                withdraw = self._sender("DELETE", "solution")
                why = "withdrawn, as the sample changed"
                yield Change("-", "solution", why, withdraw, of_draft=True)
            send = self._file_sender(part, name, content, replaces=known is not None)
            size = output.size(len(content))
            yield Change(_sign(known), part.path, size, send, of_draft)
        for name in there if prune else ():
            yield Change("-", name, "", self._sender("DELETE", "files", name))

    def _of_scoring(self, state: Json | None) -> Iterator[Change]:
        now = self.client.get(organize_path(self.slug, "scoring")) if state else {}
        wished = {
            name: value for name, value in vars(self.board).items() if value and name != "title"
        }
        changed = {name for name, value in wished.items() if not _holds(now.get(name), value)}
        if not changed:
            return
        send = self._sender("PUT", "scoring", json=wished)
        first = "metric" if changed & {"metric", "metric_parameters"} else "mechanism"
        told = ", ".join(f"{name} {_told(wished[name])}" for name in wished if name in changed)
        yield Change(_sign(now.get("metric")), first, told, send, of_draft=True)

    def _seal(self, is_sealed: bool) -> Change:
        path = self.folder / self.round.solution
        return Change(
            "~" if is_sealed else "+",
            self.round.solution,
            "to be sealed",
            lambda client: send_solution(client, self.slug, path),
            of_draft=is_sealed,
        )

    def _propose(self) -> Iterator[Change]:
        """Yield taking what the data propose, and then what the folder says besides."""
        use = self._sender("POST", "scoring", "proposal", json={})
        yield Change("~", "mechanism", "as the data propose", use, of_draft=True)
        given = {"metric_parameters", "mechanism_parameters"}
        told = {name: value for name, value in vars(self.board).items() if name in given and value}
        if told:
            body = {"metric": self.board.metric} | told
            again = self._sender("PUT", "scoring", json=body)
            yield Change("~", "parameters", "as the folder says", again, of_draft=True)

    def _sender(
        self, method: str, *path: str, whole: bool = False, **arguments: Any
    ) -> Callable[[Connection], object]:
        where = "organize/competitions/" if whole else organize_path(self.slug, *path)
        return lambda client: client.send(method, where, **arguments)

    def _file_sender(
        self, part: FilePart, name: str, content: bytes, *, replaces: bool
    ) -> Callable[[Connection], object]:
        def send(client: Connection) -> object:
            if replaces:
                client.send("DELETE", organize_path(self.slug, "files", name))
            fields = {"role": part.role, "description": part.description}
            files = {"file": (name, content, "application/octet-stream")}
            return client.send("POST", organize_path(self.slug, "files"), data=fields, files=files)

        return send

    def _headers(self, before: Json | None) -> str:
        new = ",".join(_header(self.round.columns))
        old = ",".join(_header(before))
        return f"{old} → {new}" if old not in ("", new) else new


def _refuse_fixed(state: Json | None, changes: list[Change]) -> None:
    """Raise Failure where something would change that participants rely on."""
    fixed = [str(each) for each in changes if each.of_draft]
    if state is not None and state["opened_at"] is not None and fixed:
        raise Failure(
            "Nothing was sent: this can't change while the competition is open.",
            details=fixed,
            hint="As long as nobody has submitted, an owner can take it back to draft.",
        )


def _stopped(refused: Refused, change: Change, done: list[Change]) -> Failure:
    """Return the refusal, with what was sent before it."""
    sent = [f"sent before: {each}" for each in done]
    hint = "Fix it and push again: what was sent is not sent twice." if done else refused.hint
    return Failure(
        f"{change.what}: {refused.message}", details=[*refused.details, *sent], hint=hint
    )


def _report(slug: str, changes: list[Change], dry_run: bool, style: Format) -> None:
    if style is not Format.table:
        rows = [{"sign": each.sign, "what": each.what, "detail": each.detail} for each in changes]
        output.show_json({"competition": slug, "dry_run": dry_run, "changes": rows})
        return
    for each in changes:
        output.say(str(each))
    if not changes:
        output.say(f"{slug} is up to date.")
    else:
        told = "would change; nothing was sent" if dry_run else "sent"
        output.note(f"{slug}: {output.number(len(changes), 'thing', 'things')} {told}.")


def _nothing(_client: Connection) -> None:
    """Send nothing: it went along with what was sent before."""


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _same(there: Any, wished: Any) -> bool:
    if isinstance(wished, datetime):
        return there is not None and datetime.fromisoformat(there) == wished
    if isinstance(wished, str) and isinstance(there, str):
        return there.replace("\r\n", "\n").strip() == wished.strip()
    return bool(there == wished)


def _difference(there: Any, wished: Any) -> str:
    """Return both in short: of a text how many lines differ."""
    if isinstance(wished, str) and ("\n" in wished or len(wished) > 60):
        before = str(there or "").replace("\r\n", "\n").splitlines()
        after = wished.splitlines()
        added = len([line for line in after if line not in before])
        removed = len([line for line in before if line not in after])
        return f"{added} lines added, {removed} removed"
    return f"{_told(there)} → {_told(_plain(wished))}"


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={each}" for name, each in value.items())
    return "none" if value is None else str(value) or "empty"


def _sign(there: object) -> str:
    return "~" if there else "+"


def _is_known(known: Json, part: FilePart, content: bytes) -> bool:
    facts = (known["role"], known["description"], known["sha256"])
    return facts == (part.role, part.description, hashlib.sha256(content).hexdigest())


def _holds(there: Any, wished: Any) -> bool:
    """Return whether the server has all that is wished; of parameters those that are told."""
    if isinstance(wished, dict):
        return all(_equal((there or {}).get(name), each) for name, each in wished.items())
    return bool(there == wished)


def _equal(there: str | None, wished: str) -> bool:
    try:
        return there is not None and Fraction(there) == Fraction(wished)
    except (ValueError, ZeroDivisionError):
        return there == wished


def _header(columns: Json | None) -> list[str]:
    if columns is None:
        return []
    return [columns["id_column"], *(each["name"] for each in columns["columns"])]


def _columns(columns: Json | None) -> Json | None:
    """Return columns with what may be left out."""
    if columns is None:
        return None
    plain = [
        {name: each for name, each in one.items() if each is not None} for one in columns["columns"]
    ]
    full = [({"separator": " "} | one) if one["kind"] in LISTS else one for one in plain]
    return {"id_column": columns["id_column"], "columns": full}
