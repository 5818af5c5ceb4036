"""The part of `holdfast verify` that holds what a server shows against its public log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from holdfast import output
from holdfast.connection import Connection, Json, competition_path
from holdfast.errors import Failure, NotFound, Refused
from holdfast.logs import GRACE, KEEP, Followed, Store, follow, moment, read_heads
from scoring.transparency.history import History, Key
from scoring.transparency.ledgers import LedgerCheck
from scoring.transparency.notes import Verifier
from scoring.verification.differences import Differs

PAUSE = 5  # seconds between two looks at a head that is to grow

if TYPE_CHECKING:
    from scoring.predictions import Predictions
    from scoring.transparency.checks import Shown
    from scoring.transparency.receipts import Receipt


@dataclass(frozen=True)
class Read:
    """A ledger that was read to its end, and the rounds, as the server lists them, that ask it.

    own: one's own predictions by team and submission. published: the SHA-256 of each version's
    publication; None where publications were not asked for.
    """

    uid: str
    rounds: Sequence[Json]
    watch: LedgerCheck
    own: Mapping[Key, Predictions]
    published: Mapping[int, str] | None = None

    def check_published(self, history: History) -> None:
        """Raise Differs unless the publications are those that the log has."""
        logged = {
            version: entry
            for (ledger, version), entry in history.latest["published"].items()
            if ledger == self.uid
        }
        if self.published is None:
            return
        for version, entry in logged.items():
            found = self.published.get(version)
            if found != entry["sha256"]:
                known = "is not shown" if found is None else f"has the SHA-256 {found}"
                message = f"It {known}; log entry {entry.index} has {entry['sha256']}."
                raise Differs(None, f"publication of version {version}", message)

    def measure_own(self, board: str) -> dict[Key, tuple[int, int]]:
        """Return what one's own files score in the end, by the published solution."""
        from scoring import metrics
        from scoring.measuring import measure_final

        header, solution = self.watch.header, self.watch.solution
        facts = header.boards[board] if header else {}
        metric = metrics.METRICS.get(facts.get("metric", ""))
        if metric is None or solution is None:
            return {}
        parameters = metric.parse(facts["metric_parameters"])
        means = {
            key: measure_final(metric, parameters, predictions, solution)
            for key, predictions in self.own.items()
        }
        return {key: (mean.units, mean.whole) for key, mean in means.items()}


@dataclass
class Log:
    """A competition's log, read before everything that is held against it.

    accept_restored: receipts that say more than what was restored are no failure. finals: how many
    exact final scores were computed again.
    """

    client: Connection
    slug: str
    store: Store
    found: Followed
    accept_restored: bool = False
    finals: int = 0

    def watch(self) -> LedgerCheck:
        """Return what compares a ledger with the log, entry by entry."""
        settled = int(time.time()) - self.found.delay - GRACE
        return LedgerCheck(self.found.history, moment(settled))

    def compare(self, facts: Json, ledgers: Sequence[Read], *, whole: bool) -> None:
        """Raise Failure where the server shows something else than ledgers and log come to.

        facts: of the competition. Where all agrees, the head is kept for the next time. whole: the
        answers were read, with the packages that takes.
        """
        with self._naming():
            for read in ledgers:
                read.watch.check_end()
            self._check_shown(ledgers)
            self._compare_submissions()
        if whole:
            self._compare_rounds(facts, ledgers)
        if self.found.restored and not self.accept_restored:
            raise Failure(
                "The log contradicts your receipts.",
                details=[self._contradicted(receipt) for receipt in self.found.restored],
                hint="A backup that was restored may have lost their entries: show the receipts to "
                "the organizer. To go on with what was restored, use --accept-restored.",
            )
        for gone in (each for read in ledgers for each in read.watch.written_off if each):
            output.warn(
                f"Entries {gone[0]} to {gone[-1]} of the ledger were lost with a database and "
                "written off: each counts as if it had said the most it could."
            )
        self.found.keep(self.store)

    @contextmanager
    def _naming(self, where: str = "") -> Iterator[None]:
        """Turn a difference into the failure that ends the command."""
        try:
            yield
        except Differs as differs:
            raise Failure(f"The log differs. {where}{differs.difference}", hint=KEEP) from None
        except (LookupError, TypeError, ValueError) as error:
            message = f"What the server shows can't be read. {where}{error!r}"
            raise Failure(message, hint=KEEP) from None

    def _check_shown(self, ledgers: Sequence[Read]) -> None:
        """Raise Differs where the log knows of a ledger or a round that was not shown."""
        history = self.found.history
        for read in ledgers:
            if read.watch.uid not in ("", read.uid):
                message = f"The log has the ledger {read.watch.uid} for these rows."
                raise Differs(None, f"ledger {read.uid}", message)
        listed = {round["number"] for read in ledgers for round in read.rounds}
        hidden = history.hidden_rounds - listed
        unread = self._unread_rounds({read.watch.uid for read in ledgers}, hidden)
        known = {entry["round"] for entry in history.submissions.values()}
        known |= {round for (round,) in history.latest["revealed"]}
        if lost := sorted(known - listed - hidden):
            message = "The log has its submissions or its end; the server does not show it."
            raise Differs(None, f"round {lost[0]}", message)
        if unread:
            rounds = " and ".join(map(str, sorted(unread)))
            output.note(f"Round {rounds} is hidden until its end: its answers were not read.")

    def _unread_rounds(self, read: Set[str], hidden: Set[int]) -> set[int]:
        """Return the rounds of ledgers that were not read. Raise Differs for one not hidden."""
        history, unread = self.found.history, set[int]()
        stand_ins = history.stand_ins.values()
        for ledger in sorted({*history.ledgers, *(each["ledger"] for each in stand_ins)}):
            if ledger in read:
                continue
            rounds = history.rounds_of(ledger)
            if not rounds or not rounds <= hidden:
                about = [entry for _, entry in history.ledgers.get(ledger, {}).values()]
                about += [each for each in stand_ins if each["ledger"] == ledger]
                index = min(entry.index for entry in about)
                message = f"Log entry {index} commits to an answer of it; the server does not show"
                raise Differs(None, f"ledger {ledger}", f"{message} it.")
            unread |= rounds
        return unread

    def _compare_rounds(self, facts: Json, ledgers: Sequence[Read]) -> None:
        from scoring.transparency.checks import Shown

        several = len(facts["rounds"]) > 1
        for read in ledgers:
            with self._naming(f"Round {read.rounds[-1]['number']}, " if several else ""):
                read.check_published(self.found.history)
            for round in read.rounds:
                number = round["number"]
                reveal = self.found.history.latest["revealed"].get((number,))
                where = f"Round {number}, " if several else ""
                with self._naming(where):
                    then = self.found.history.up_to(reveal) if reveal else None
                    shown = Shown(self.found.history, self.found.names, then)
                    if round is facts["rounds"][-1]:
                        shown.check_facts(facts, number)
                    self._compare_boards(read, round, shown, where)
                    if reveal is not None:
                        self.finals += self._compare_finals(read, round, shown)

    def _compare_boards(self, read: Read, round: Json, shown: Shown, where: str) -> None:
        boards = [board["uid"] for board in round["boards"]]
        assert read.watch.header is not None  # noqa: S101  (its segments were read)
        shown.check_scoring(round["number"], read.watch.header, boards)
        for board in round["boards"]:
            asked = {"round": round["number"], "board": board["position"]}
            rows = list(self.client.every(competition_path(self.slug, "leaderboard"), **asked))
            if read.watch.pending:
                newer = output.number(read.watch.pending, "answer is", "answers are")
                output.note(f"{where}{newer} newer than the log's head: verify the board later.")
                return
            self._check_names(shown, rows)
            standings = shown.standings(read.watch.answers.get(board["uid"], {}))
            try:
                known = read.watch.header.boards[board["uid"]]
                shown.check_board(shown.ranked(standings), known, rows)
            except Differs:
                path = competition_path(self.slug, "ledger")
                newest = self.client.get(path, round=round["number"], page_size=1)["results"]
                if not newest or newest[0]["number"] in read.watch.numbers:
                    raise
                output.note("The board changed while it was read: verify it when less is going on.")

    def _check_names(self, shown: Shown, rows: Sequence[Json]) -> None:
        """Raise Differs where a team goes by a name that the log hasn't, nor gets in time."""
        for _ in range(self.found.delay // PAUSE + 1):
            if shown.find_renamed(rows) is None:
                return
            sleep(PAUSE)
            again = follow(
                *(self.client, self.slug, self.store), now=int(time.time()), key=self.found.key
            )
            shown.name_teams(again.names)
        if renamed := shown.find_renamed(rows):
            raise renamed

    def _compare_finals(self, read: Read, round: Json, shown: Shown) -> int:
        """Compare the final board of a round; return how many exact scores were computed again."""
        from scoring.transparency import finals
        from scoring.transparency.checks import places_of

        number, board = round["number"], round["boards"][0]["uid"]
        path, watch = competition_path(self.slug, "final"), read.watch
        header = watch.header
        assert header is not None  # noqa: S101  (its segments were read)
        facts = self.client.get(path, round=number, page_size=1)["facts"]
        rows = list(self.client.every(path, round=number))
        try:
            tests = self.client.get(f"{path}tests/", round=number)
        except NotFound:
            tests = None
        entries = finals.entries_of(shown.history, number)
        kind, count = finals.rows_of(entries.values(), header, board, facts, watch.solution)
        measured = 0
        for uid in [each["uid"] for each in round["boards"]]:
            own = read.measure_own(uid)
            known = watch.measured.get(uid, {}) if kind == "private" else {}
            measured += finals.check_measured(entries, uid, known | own)
        losses = finals.losses_of(entries, board)
        baselines = {team for team, _ in entries if shown.then.is_on("baseline", team)}
        best = finals.check_places(entries, losses, baselines)
        self._check_names(shown, rows)
        shown.check_baselines(rows)
        standings = shown.standings(watch.answers.get(board, {}))
        ranked = shown.ranked(standings)
        places = places_of(each.loss for each in ranked)
        released = {each.team: places[each.loss] for each in ranked}
        finals.check_rows(rows, entries, losses, best, released)
        code = watch.season_code if header.terms else None
        found = finals.Tests(header, board, code, (kind, count)).check(tests, losses, standings)
        if found is not None:
            better, order = found
            behind = sorted(entries.keys() - set(order))
            finals.check_rank_sets(rows, better, [*order, *behind], baselines)
        elif tests is None:
            finals.check_untested(rows)
        return measured

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
        if self.finals:
            scores = output.number(self.finals, "final score", "final scores")
            output.say(f"Computed again from what was published: {scores}.")
        if self.found.held:
            receipts = output.number(len(self.found.held), "receipt", "receipts")
            output.say(f"Your {receipts} kept here: each has its entry.")
        teams = self.found.history.latest["team"].keys() - {(team,) for team in self.found.names}
        if teams:
            hidden = output.number(len(teams), "team", "teams")
            output.note(f"The log shows no name of {hidden}: those were not compared.")
        self._note_open()
        if self.found.unseen is None:
            output.note("No witness was asked: whether others see this log is not known.")
        elif self.found.unseen:
            newer = output.number(self.found.unseen, "entry is", "entries are")
            output.note(f"{newer} newer than what a witness has seen.")
        else:
            output.say("A witness has seen this log, up to its newest entry.")

    def _contradicted(self, receipt: Receipt) -> str:
        """Return what a receipt says of a submission whose entry was lost."""
        entry = self.found.history.accepted(receipt.team, receipt.submission)
        if entry is None:
            return (
                f"Submission {receipt.submission} was lost with a database, says the log; your "
                f"signed receipt is of {receipt.at}."
            )
        return (
            f"Submission {receipt.submission} is in the log as restored at "
            f"{entry['at']}, without its file; your signed receipt says {receipt.at}."
        )

    def _note_open(self) -> None:
        """Report what was restored, what has time left, and what has no outcome yet."""
        history = self.found.history
        if restored := history.latest["restored"]:
            answers = output.number(len(restored), "submission", "submissions")
            first = min(entry.index for entry in restored.values())
            output.warn(
                f"The answers of {answers} were brought back from a copy of the ledger after a "
                f"backup was restored (from log entry {first} on). Of {len(history.stand_ins)} the "
                "log had lost file and moment: ties go by the moments of their answers."
            )
        for key, entry in history.stand_ins.items():
            late = ", which is past the deadline" if key in history.late else ""
            output.warn(
                f"Submission {key[1]} of team {key[0]}: the log had lost file and moment; its "
                f"answer is of {entry['at']}{late}."
            )
        for entry in history.lost:
            output.warn(
                f"Log entry {entry.index}, “{entry['kind']}”, does not hold any more: what it says "
                "was lost with a database, of which a backup was restored."
            )
        for receipt in self.found.restored:
            output.warn(f"{self._contradicted(receipt)} Show it to the organizer.")
        for receipt in self.found.waiting:
            output.note(f"Submission {receipt.submission} is not in the log yet; it has time.")
        settled = self.watch().settled
        for entry in self.found.history.unanswered:
            if entry["at"] < settled:
                what = f"Submission {entry['submission']} of team {entry['team']}"
                output.note(f"{what} was accepted at {entry['at']} and has no outcome yet.")


def read_log(
    client: Connection,
    slug: str,
    key: str | None,
    witnesses: list[str],
    *,
    accept_restored: bool = False,
) -> Log | None:
    """Follow a competition's log; return None, with a note, where the server shows none.

    witnesses: keys, or files of heads. accept_restored: receipts that say more
    than what was restored are no failure. Raises Failure where there was a log before.
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
    return Log(client, slug, store, found, accept_restored)
