"""The part of `holdfast verify` that holds what a server shows against its public log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast import output
from holdfast.connection import Connection, Json, competition_path
from holdfast.errors import Failure, NotFound, Refused
from holdfast.logs import GRACE, KEEP, Followed, Store, follow, moment, read_heads
from scoring.transparency.ledgers import LedgerCheck
from scoring.transparency.notes import Verifier
from scoring.verification.differences import Differs
from scoring.verification.ledgers import Header

if TYPE_CHECKING:
    from scoring.transparency.checks import Shown


@dataclass
class Log:
    """A competition's log, read before everything that is held against it."""

    client: Connection
    slug: str
    store: Store
    found: Followed

    @cached_property
    def ledger(self) -> LedgerCheck:
        """Return what compares the ledger with the log, entry by entry."""
        settled = int(time.time()) - self.found.delay - GRACE
        return LedgerCheck(self.found.history, moment(settled))

    def compare(self, headers: Sequence[Header], *, whole: bool) -> None:
        """Raise Failure where the server shows something else than ledger and log come to.

        Where all agrees, the head is kept for the next time. whole: the ledger's answers were read,
        with the packages that takes.
        """
        try:
            self.ledger.check_end()
            self._compare_submissions()
            if whole:
                self._compare_boards(headers)
        except Differs as differs:
            raise Failure(f"The log differs. {differs.difference}", hint=KEEP) from None
        self.found.keep(self.store)

    def _compare_boards(self, headers: Sequence[Header]) -> None:
        from scoring.transparency.checks import Shown, check_tests

        shown = Shown(self.found.history, self.found.names)
        shown.check_facts(self.client.get(competition_path(self.slug)))
        rows = list(self.client.every(competition_path(self.slug, "leaderboard")))
        if self.ledger.pending:
            newer = output.number(self.ledger.pending, "answer is", "answers are")
            output.note(f"{newer} newer than the log's head: verify the board a minute later.")
        else:
            self._compare_board(shown, headers[-1], rows)
        if not self.found.history.latest["revealed"]:
            return
        shown.check_final(list(self.client.every(competition_path(self.slug, "final"))))
        try:
            tests = self.client.get(competition_path(self.slug, "final", "tests"))
        except NotFound:
            return
        check_tests(tests)

    def _compare_board(self, shown: Shown, header: Header, rows: list[Json]) -> None:
        """Compare the rows with those of each board of the ledger; one of them is shown."""
        differences = list[Differs]()
        for board, facts in header.boards.items():
            expected = shown.standings(self.ledger.answers.get(board, {}))
            try:
                shown.check_board(expected, facts, rows)
            except Differs as differs:
                differences.append(differs)
        if len(differences) < len(header.boards):
            return
        newest = self.client.get(competition_path(self.slug, "ledger"), page_size=1)["results"]
        if newest and newest[0]["number"] not in self.ledger.numbers:
            output.note("The board changed while it was read: verify it when less is going on.")
            return
        raise differences[0]

    def _compare_submissions(self) -> None:
        """Compare one's own submissions, as the server lists them, with their receipts."""
        held = self.found.held
        if not held or not self.client.settings.token:
            return
        try:
            rows = self.client.every(competition_path(self.slug, "submissions"))
            listed = {row["number"]: row for row in rows}
        except Refused as refused:
            output.note(f"Your submissions could not be listed: {refused.message}")
            return
        for receipt in held:
            team, number = self.found.history.now(receipt.team, receipt.submission)
            if team != receipt.team and number not in listed:
                continue  # it stayed with the team that it was sent by
            row = listed.get(number, {})
            for name, promised in (("sha256", receipt.sha256), ("created_at", receipt.at[:19])):
                if not str(row.get(name)).startswith(promised):
                    message = f"The server lists {row.get(name)}; your receipt says {promised}."
                    raise Differs(None, f"submission {number}, {name}", message)

    def say(self) -> None:
        """Report what was compared."""
        size = output.number(self.found.head.size, "entry", "entries")
        output.say(f"The public log agrees: {size}, all under one signed head.")
        if self.found.held:
            receipts = output.number(len(self.found.held), "receipt", "receipts")
            output.say(f"Your {receipts} kept here: each has its entry.")
        teams = self.found.history.latest["team"].keys() - {(team,) for team in self.found.names}
        if teams:
            hidden = output.number(len(teams), "team", "teams")
            output.note(f"The log shows no name of {hidden}: those were not compared.")
        for receipt in self.found.waiting:
            output.note(f"Submission {receipt.submission} is not in the log yet; it has time.")
        for entry in self.found.history.unanswered:
            if entry["at"] < self.ledger.settled:
                what = f"Submission {entry['submission']} of team {entry['team']}"
                output.note(f"{what} was accepted at {entry['at']} and has no outcome yet.")
        if self.found.unseen is None:
            output.note("No witness was asked: whether others see this log is not known.")
        elif self.found.unseen:
            newer = output.number(self.found.unseen, "entry is", "entries are")
            output.note(f"{newer} newer than what a witness has seen.")


def read_log(client: Connection, slug: str, key: str | None, witnesses: list[str]) -> Log | None:
    """Follow a competition's log; return None, with a note, where the server shows none.

    witnesses: keys, or files of heads. Raises Failure where there was one before.
    """
    store = Store(client.settings.url, slug)
    try:
        known = Verifier.parse(key) if key else None
        files = [Path(each) for each in witnesses if Path(each).exists()]
        keys = [Verifier.parse(each) for each in witnesses if not Path(each).exists()]
    except ValueError as error:
        raise Failure(str(error)) from None
    try:
        if files and known is None:
            about = client.get(competition_path(slug, "log"))
            known = Verifier.parse(str(about["key"]))
        seen = [head for path in files if known for head in read_heads(path, known)]
        found = follow(
            client, slug, store, now=int(time.time()), key=known, witnesses=keys, seen=seen
        )
    except Refused as refused:
        if store.read("head") or known or witnesses:
            hint = f"Its newest head that was seen here is in {store.folder}."
            raise Failure(f"The server shows no log: {refused.message}", hint=hint) from None
        output.note(f"There is no public log to compare with: {refused.message}")
        return None
    return Log(client, slug, store, found)
