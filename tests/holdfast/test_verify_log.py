"""`holdfast verify`: boards, finals, times and receipts, held against the public log."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast import logs, verify_log
from holdfast.config import config_path
from holdfast.connection import connect
from holdfast.errors import Failure
from holdfast.verify_log import Read, read_log
from scoring.chain import document_hash
from scoring.transparency import leaves
from scoring.transparency.notes import Key, Note
from scoring.verification.run import verify as verify_ledger
from tests.holdfast.conftest import URL, Ran, Run, Server, ok, page, problem
from tests.holdfast.logged import KEY, WITNESS, Logged
from tests.scoring.ledgers import BOARD, ROWS, File, Played, rewritten

pytestmark = pytest.mark.usefixtures("signed_in")

LEDGER = "1" * 32
OPENED = "2026-01-01T00:00:00+00:00"
CLOSES = "2026-02-01T00:00:00+00:00"
LIMITS = {"daily_limit": 5, "total_limit": None, "max_file_bytes": 100, "finals_limit": 2}
# team, wrong rows, accepted at second: blue was scored last, but sent its best file first.
FILES = (("a1", 60, 1), ("b2", 30, 3), ("a1", 30, 4), ("c3", 30, 2))
NAMES = {"a1": "Reds", "b2": "Greens", "c3": "Blues"}
Change = Callable[["Season"], object]


def sent_at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}+00:00"


def digest(number: int) -> str:
    return f"{number:064x}"


def uid_of(name: str) -> str:
    return next(uid for uid, named in NAMES.items() if named == name)


@dataclass
class Season:
    """A competition after its end, as its server shows it: everything agrees."""

    played: Played = field(default_factory=Played)
    log: Logged = field(default_factory=Logged)
    receipts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        log, commitment = self.log, self.played.salted.commitment
        log.add("deadline", OPENED, round=1, opens_at=OPENED, closes_at=CLOSES)
        log.add("limits", OPENED, round=1, limits=LIMITS)
        log.add("sealed", OPENED, ledger=LEDGER, version=1, solution=commitment)
        for team, name in NAMES.items():
            log.team(team, name, OPENED)
        for team, wrong, _ in FILES:
            self.played.take(File(team, tuple(range(ROWS - wrong, ROWS))))
        for (*_, second), entry in zip(FILES, self.played.entries, strict=True):
            team, number = entry["team"], entry["submission"]
            sha256 = digest(entry["number"])
            self.receipts.append(log.accept(team, number, sha256, sent_at(second)))
            answer = {"board": BOARD, "number": entry["number"], "hash": entry["hash"]}
            said = {"team": team, "submission": number, "ledger": LEDGER, "entries": [answer]}
            log.add("released", CLOSES, **said)
        self.rows = [self._row(name, 1, second) for name, second in (("Blues", 2), ("Greens", 3))]
        self.rows.append(self._row("Reds", 1, 4))
        board = {"position": 0, "title": "Accuracy", "uid": BOARD}
        rounds = [{"number": 1, "title": "", "ledger": LEDGER, "boards": [board]}]
        self.facts = {"closes_at": CLOSES.replace("+00:00", "Z"), **LIMITS, "rounds": rounds}
        self.measured = {"rows": "private", "count": 80, "effective": 80}
        self.final = [self._final(name, place) for name, place in (("Greens", 1), ("Blues", 2))]
        for row, team in zip(self.final, ("b2", "c3"), strict=True):
            score = {BOARD: {"units": row["best"]["loss_numerator"], "of": 80}}
            fields = {"team": team, "submission": 1, "round": 1, "place": row["rank"]}
            log.add("final", CLOSES, **fields, scores=score)
        log.add("revealed", CLOSES, round=1)
        log.add("scoring", OPENED, round=1, parameters_hash=document_hash(self._asked()))
        self.submissions = [
            {"number": number, "sha256": digest(at + 1), "created_at": sent_at(second)}
            for at, (number, second) in enumerate([(1, 1), (0, 3), (2, 4), (0, 2)])
            if number
        ]

    def _asked(self) -> dict[str, Any]:
        names = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
        board = {name: self.played.scoring[name] for name in names}
        schema = self.played.scoring["schema"]
        return {"boards": {BOARD: board}, "order": [BOARD], "schema": schema}

    def _row(self, name: str, rank: int, second: int) -> dict[str, Any]:
        level = self.played.entries[-1]["level"] / 20
        row = {"team": name, "rank": rank, "score": 1 - level, "is_baseline": False}
        row["team_uid"] = uid_of(name)
        return row | {"last_improvement_at": sent_at(second)}

    def _final(self, name: str, place: int) -> dict[str, Any]:
        best = {"number": 1, "loss_numerator": 20 + place, "loss_denominator": 80}
        places = {"rank": place, "released_rank": 1, "best_place": None, "worst_place": None}
        row = {
            "team": name,
            "team_uid": uid_of(name),
            "best": best,
            "others": [],
            "is_baseline": False,
        }
        return row | places

    def row(self, name: str) -> dict[str, Any]:
        return next(row for row in self.rows if row["team"] == name)

    def serve(self, server: Server) -> None:
        """Show all of it."""
        lines = b"".join(self.played.lines())
        at = "competitions/played/"
        newest = page({"number": len(self.played.entries)})
        ledger = httpx.Response(200, content=lines)
        server.on(
            "GET", f"{at}ledger/", lambda asked: ledger if "format" in asked.url.params else newest
        )
        for path, rows in (
            *(("leaderboard", self.rows), ("publications", [])),
            ("submissions", self.submissions),
        ):
            server.on("GET", f"{at}{path}/", page(*rows))
        server.on("GET", f"{at}final/", page(*self.final, facts=self.measured))
        server.on("GET", at, ok(self.facts))
        for path in ("log/", "log/entries/", "log/consistency/"):
            server.on("GET", at + path, self._logged)

    def _logged(self, request: httpx.Request) -> httpx.Response:
        return ok(self.log.get(request.url.path, **dict(request.url.params)))


@pytest.fixture
def season() -> Season:
    return Season()


Verify = Callable[..., Ran]


@pytest.fixture
def verify(season: Season, server: Server, run: Run) -> Verify:
    """Return a function that verifies what the server shows now."""

    def verify(*words: str) -> Ran:
        if any(path.endswith("ledger/") for _, path in server.answers):
            server.answers.clear()
        season.serve(server)
        return run("verify", "played", *words)

    return verify


def keep(*receipts: str) -> None:
    store = logs.Store(URL, "played")
    for receipt in receipts:
        store.keep_receipt(receipt)


def test_what_agrees_is_verified(season: Season, verify: Verify) -> None:
    keep(season.receipts[0], season.receipts[2])
    ran = verify()
    assert ran.code == 0, ran.err
    assert "The public log agrees: 18 entries, all under one signed head." in ran.out
    assert "Your 2 receipts kept here: each has its entry." in ran.out
    assert "No witness was asked" in ran.err


def compare(lines: list[bytes], *written_off: range) -> None:
    """Do what `holdfast verify` does with a log, without the rest of the command."""
    with connect() as client:
        log = read_log(client, "played", None, [])
        assert log is not None
        facts, watch = client.get("competitions/played/"), log.watch()
        watch.written_off.extend(written_off)
        report = verify_ledger(lines, observer=watch)
        if report.difference:
            raise Failure(str(report.difference))
        read = Read(facts["rounds"][0]["ledger"], facts["rounds"], watch, {})
        log.compare(facts, [read], whole=True)


def exchange_names(season: Season) -> None:
    season.row("Greens")["team"], season.row("Blues")["team"] = "Blues", "Greens"


def exchange_final_names(season: Season) -> None:
    for row, name in zip(season.final, ("Blues", "Greens"), strict=True):
        row["team"] = name


def take_the_name_of_another(season: Season) -> None:
    """Blues have no name any more, as their salt was deleted."""
    exchange_names(season)
    del season.log.openings[5]


def enter_another(season: Season) -> None:
    """The log has a second final entry of the first team, which the board does not show."""
    season.log.accept("b2", 2, digest(9), sent_at(50))
    score = {BOARD: {"units": 40, "of": 80}}
    fields = {"team": "b2", "submission": 2, "round": 1, "place": None}
    season.log.add("final", CLOSES, **fields, scores=score)


def exchange_commitments(season: Season) -> None:
    exchange_names(season)
    mine, theirs = (season.log.openings[index] for index in (4, 5))
    mine["name"], theirs["name"] = theirs["name"], mine["name"]


def shorten(season: Season) -> None:
    season.played.entries.pop()


def rewrite(season: Season) -> None:
    season.played.entries[1]["team"] = "c3"
    season.played.entries = rewritten(season.played.entries)


def lose_entries(*entries: int) -> Change:
    """Have the log tell that entries of it do not hold any more."""

    def change(season: Season) -> None:
        for each in entries:
            season.log.add("lost", CLOSES, entry=each)

    return change


def drop(season: Season) -> None:
    """A file was lost between its 201 and its release, and the log was written without it."""
    season.log = Season().log
    del season.log.entries[10]
    del season.log.entries[10]
    season.played.entries.pop(2)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: s.row("Reds").update(last_improvement_at=sent_at(2)), "Reds, last_improvement"),
        (lambda s: s.rows.reverse(), "Reds, place 1: Ledger and log have Blues here"),
        (lambda s: s.row("Greens").update(rank=2), "Greens, rank"),
        (lambda s: s.row("Greens").update(score=0.9), "Greens, score"),
        (lambda s: s.row("Greens").update(is_baseline=True, rank=None), "Greens, is_baseline"),
        (lambda s: s.rows.pop(), "board: It has 2 teams; ledger and log have 3"),
        (
            lambda s: s.row("Greens").update(team="Ghosts"),
            "Ghosts, team: The log names it 'Greens'",
        ),
        (lambda s: s.final[0].update(team="Ghosts"), "Ghosts, team: The log names it 'Greens'"),
        (exchange_names, "Greens, team: The log names it 'Blues'"),
        (exchange_final_names, "Blues, team: The log names it 'Greens'"),
        (take_the_name_of_another, "Greens, team: The log has this name for another team"),
        (lambda s: s.final.__setitem__(1, s.final[0]), "final board: It lacks team c3"),
        (
            lambda s: s.final.append({**s.final[0], "rank": None}),
            "Greens, team: The board has two rows",
        ),
        (
            lambda s: s.final[0]["others"].append(s.final[0]["best"]),
            r"Greens, others: It shows the submissions \[1, 1\]; the log has \[1\]",
        ),
        (enter_another, r"Greens, others: It shows the submissions \[1\]; the log has \[1, 2\]"),
        (exchange_commitments, "Log entry 4, name: Team b2 does not go by 'Blues'"),
        (lambda s: s.submissions[0].update(created_at=sent_at(9)), "submission 1, created_at"),
        (lambda s: s.submissions[1].update(sha256=digest(9)), "submission 2, sha256"),
        (lambda s: s.submissions.pop(), "submission 2, sha256: The server lists None"),
        (lambda s: s.facts.update(closes_at="2026-02-02T00:00:00Z"), "closes_at: It is 2026-02-02"),
        (lambda s: s.facts.update(daily_limit=50), "daily_limit: It is 50; the log has 5"),
        (lambda s: s.final.reverse() or s.final[0].update(rank=1), "Blues, rank: It is 1"),
        (lambda s: s.final[0]["best"].update(loss_numerator=1), "Greens, score"),
        (lambda s: s.final[0]["best"].update(number=7), "Greens, best: The log has no final"),
        (lambda s: s.final[0].update(released_rank=2), "Greens, released_rank: It is 2; computed"),
        (lambda s: s.final[0].update(best_place=1), "Greens, best_place: No tests are published"),
        (lambda s: s.final.pop(), "final board: It has 1 teams; the log has 2"),
        (lambda s: s.measured.update(count=79), "final board, count: It is 79"),
        (lambda s: s.measured.update(rows="final", effective=9), "not counted in 9 final rows"),
        (
            lambda s: s.log.change(14, scores={BOARD: {"units": 21, "of": 81}}),
            "Log entry 14, scores: They are not counted in 80 private rows",
        ),
        (lambda s: s.log.change(17, parameters_hash=digest(1)), "boards of round 1: Log entry 17"),
        (
            lambda s: s.facts["rounds"][0].update(ledger="2" * 32),
            "ledger 2222.* has the ledger 111",
        ),
        (shorten, "Entry 4, number: Log entry 13 has it, the ledger doesn't"),
        (rewrite, "Entry 2, hash: Log entry 9 commits to another one"),
        (lambda s: s.log.change(6, at=sent_at(9)), "Log entry 6, at: "),
        (lambda s: s.log.change(6, file=digest(1)), "Log entry 6, file: "),
        (lambda s: s.log.change(8, at=CLOSES), "Log entry 8, at: .* not before the deadline"),
        (lambda s: s.log.change(8, team="c3"), "Log entry 12, accepted: Entry 8"),
        (
            lambda s: s.log.change(15, place=1),
            "Log entry 15, place: It is 1; computed again it is 2",
        ),
        (lambda s: s.log.change(9, submission=7), "Log entry 9, submission: No entry says"),
        (drop, "receipt: Submission 2 was accepted at 2026-01-01T00:00:04"),
        (lose_entries(12), "Log entry 13, submission: No entry says that it was accepted"),
        (lose_entries(6, 7), "Entry 1, log: The log has no entry of it"),
        (lose_entries(15), "Log entry 18, entry: Entry 15, “final”, can't be lost"),
        (lose_entries(99), "Log entry 18, entry: Entry 18, “lost”, can't be lost"),
    ],
)
def test_what_an_operator_changed_is_named(
    change: Change, named: str, season: Season, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(season.receipts[0], season.receipts[2])
    monkeypatch.setattr(verify_log, "sleep", lambda seconds: None)
    change(season)
    season.serve(server)
    with pytest.raises(Failure, match=named):
        compare(season.played.lines())


def test_a_name_that_is_newer_than_the_log_s_head_is_awaited(
    season: Season, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept = list[int]()

    def sign(seconds: int) -> None:
        slept.append(seconds)
        season.log.team("b2", "Ghosts", CLOSES)

    monkeypatch.setattr(verify_log, "sleep", sign)
    for row in (season.row("Greens"), season.final[0]):
        row.update(team="Ghosts")
    assert verify().code == 0
    assert slept == [5]


def test_a_log_that_was_rewritten_since_is_found_with_evidence(
    season: Season, verify: Verify, run: Run
) -> None:
    assert verify().code == 0
    season.log.change(8, at=sent_at(1))
    season.log.add("rules", CLOSES, sha256=digest(5))
    ran = verify()
    assert ran.code == 1
    assert "The log differs. It is not the one that you saw." in ran.err
    assert "18 entries with the root" in ran.err
    (evidence,) = (config_path().parent / "logs").rglob("evidence-18-19-*.json")
    proof = run("witness", "--evidence", str(evidence))
    assert proof.code == 0, proof.err
    assert "holdfast/c0 signed two histories of holdfast/c0: 18 entries" in proof.out


def restored(season: Season, **changes: Any) -> bytes:
    """The entry that stands for the last file, whose acceptance the log has lost."""
    answer = {"board": BOARD, "number": 4, "hash": season.played.entries[3]["hash"]}
    fields = {"team": "c3", "submission": 1, "round": 1, "practice": False, "ledger": LEDGER}
    fields |= {"accepted": sent_at(4), "entries": [answer]}
    return leaves.leaf("restored", CLOSES, **fields | changes)


def lose(season: Season) -> None:
    """Restore the last answer: it counts from the moment of the answer, behind its equals."""
    season.log.entries[12:14] = [restored(season)]
    season.rows.append(season.rows.pop(0) | {"last_improvement_at": sent_at(4)})


def test_a_restored_answer_is_called_that_and_no_difference(season: Season, verify: Verify) -> None:
    lose(season)
    ran = verify()
    assert ran.code == 0, ran.err
    said = " ".join(ran.err.split())
    assert "answers of 1 submission were brought back from a copy of the ledger" in said
    lost = "Submission 1 of team c3: the log had lost file and moment; its answer is of 2026-01-01"
    assert f"{lost}T00:00:04+00:00." in said
    assert "past the deadline" not in said


def test_what_was_lost_with_a_database_is_named_and_no_difference(
    season: Season, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    marked = season.log.add("disqualified", CLOSES, team="b2", on=True)
    answer = {"board": BOARD, "number": 5, "hash": digest(1)}
    said = {"team": "a1", "submission": 2, "ledger": LEDGER, "entries": [answer]}
    season.log.add("released", CLOSES, **said)
    sent = season.log.accept("b2", 2, digest(9), sent_at(50))
    keep(sent)
    season.log.add("lost", CLOSES, entry=marked)
    season.log.add("lost", CLOSES, entry=marked + 2)
    season.serve(server)
    with pytest.raises(Failure, match="contradicts your receipts") as failure:
        compare(season.played.lines(), range(5, 7))
    assert "Submission 2 was lost with a database" in str(failure.value.details)
    with pytest.raises(Failure, match="Log entry 19 has it, the ledger doesn't"):
        compare(season.played.lines())
    (logs.Store(URL, "played").folder / "receipts" / "b2-2.txt").unlink()
    compare(season.played.lines(), range(5, 7))
    said_now = " ".join(capsys.readouterr().err.split())
    assert "Entries 5 to 6 of the ledger were lost with a database" in said_now


def test_an_entry_that_does_not_hold_any_more_is_named(season: Season, verify: Verify) -> None:
    marked = season.log.add("disqualified", CLOSES, team="b2", on=True)
    lose_entries(marked)(season)
    ran = verify()
    assert ran.code == 0, ran.err
    said = " ".join(ran.err.split())
    assert "Log entry 18, “disqualified”, does not hold any more" in said


def test_a_restored_answer_past_the_deadline_is_called_that(season: Season, verify: Verify) -> None:
    lose(season)
    ended = {"round": 1, "opens_at": OPENED, "closes_at": sent_at(4)}
    season.log.entries.insert(12, leaves.leaf("deadline", CLOSES, **ended))
    season.facts["closes_at"] = sent_at(4)
    ran = verify()
    assert ran.code == 0, ran.err
    assert "is of 2026-01-01T00:00:04+00:00, which is past the deadline." in " ".join(
        ran.err.split()
    )


def test_a_receipt_that_contradicts_what_was_restored_fails_until_that_is_accepted(
    season: Season, verify: Verify
) -> None:
    keep(season.receipts[3])
    lose(season)
    ran = verify()
    assert ran.code == 1
    said = " ".join(ran.err.split())
    assert "The log contradicts your receipts." in said
    assert "Submission 1 is in the log as restored at 2026-01-01T00:00:04+00:00" in said
    assert "your signed receipt says 2026-01-01T00:00:02+00:00" in said
    assert not logs.Store(URL, "played").read("head")
    ran = verify("--accept-restored")
    assert ran.code == 0, ran.err
    assert "your signed receipt says" in " ".join(ran.err.split())


@pytest.mark.parametrize(
    ("entries", "named"),
    [
        ([{"accepted": sent_at(2)}], "Log entry 12, accepted: The ledger has no answer of it at"),
        ([{"practice": True}], "Log entry 12, practice: No entry before it starts the round's"),
        ([{}, {"accepted": sent_at(3)}], "Log entry 13, accepted: Entry 12 has"),
        ([{}, {"round": 2}], "Log entry 13, round: Entry 12 has 1"),
        ([{}, {"team": "b2", "submission": 8}], "Log entry 13, accepted: The ledger has no answer"),
        (
            [{}, {"submission": 8, "ledger": "2" * 32, "entries": []}],
            "ledger 2222.*: Log entry 13 commits to an answer of it",
        ),
    ],
)
def test_what_no_replay_restores_is_named(
    entries: list[dict[str, Any]], named: str, season: Season, server: Server
) -> None:
    lose(season)
    season.log.entries[12:13] = [restored(season, **changes) for changes in entries]
    season.serve(server)
    with pytest.raises(Failure, match=named):
        compare(season.played.lines())


def test_an_answer_of_another_ledger_than_was_restored_is_named(
    season: Season, server: Server
) -> None:
    season.log.entries[12] = restored(season, ledger="2" * 32, entries=[])
    season.serve(server)
    with pytest.raises(Failure, match="Log entry 12, ledger: Its answer 4 is in 1111"):
        compare(season.played.lines())


def hide_round(season: Season, round: int = 2) -> None:
    """Add a round that is hidden until its end, with an answer in a ledger of its own."""
    log, hidden = season.log, {**LIMITS, "is_hidden": True}
    log.add("limits", CLOSES, round=2, limits=hidden)
    sent = {"team": "a1", "submission": 3}
    log.add("accepted", sent_at(50), **sent, file=digest(7), practice=False, round=round)
    answer = {"board": "f" * 32, "number": 1, "hash": digest(8)}
    log.add("released", CLOSES, **sent, ledger="2" * 32, entries=[answer])


def test_a_round_that_is_hidden_until_its_end_is_not_missed(season: Season, verify: Verify) -> None:
    hide_round(season)
    ran = verify()
    assert ran.code == 0, ran.err
    assert "Round 2 is hidden until its end: its answers were not read." in ran.err


def hide_a_ledger_of_another_round(season: Season) -> None:
    hide_round(season, round=1)


def hide_it_afterwards(season: Season) -> None:
    season.log.add("limits", OPENED, round=2, limits=LIMITS)
    hide_round(season)
    season.log.entries.append(season.log.entries.pop(19))


def reveal_the_hidden_round(season: Season) -> None:
    hide_round(season)
    season.log.add("revealed", CLOSES, round=2)


def accept_in_another_round(season: Season) -> None:
    hide_round(season)
    fields = {"team": "a1", "submission": 4, "round": 3, "practice": False}
    season.log.add("accepted", sent_at(51), **fields, file=digest(9))


def commit_to_a_ledger_of_no_round(season: Season) -> None:
    hide_round(season)
    season.log.add("noted", CLOSES, ledger="3" * 32, number=1, hash=digest(9))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (hide_a_ledger_of_another_round, "ledger 2222.*: Log entry 20 commits"),
        (hide_it_afterwards, "ledger 2222.*: Log entry 20 commits"),
        (reveal_the_hidden_round, "ledger 2222.*: Log entry 20 commits"),
        (commit_to_a_ledger_of_no_round, "ledger 3333.*: Log entry 21 commits"),
        (accept_in_another_round, "round 3: The log has its submissions or its end"),
        (lambda s: s.log.add("revealed", CLOSES, round=2), "round 2: The log has its submissions"),
    ],
)
def test_a_hidden_round_excuses_no_other(
    change: Change, named: str, season: Season, server: Server
) -> None:
    change(season)
    season.serve(server)
    with pytest.raises(Failure, match=named):
        compare(season.played.lines())


def test_a_log_that_became_shorter_is_found(season: Season, verify: Verify) -> None:
    assert verify().code == 0
    season.log.entries.pop()
    ran = verify()
    assert ran.code == 1
    assert "The log differs. It ends before what you saw." in ran.err


def test_another_key_is_refused(season: Season, verify: Verify) -> None:
    assert verify().code == 0
    season.log.key = Key(KEY.name, bytes([8] * 32))
    ran = verify()
    assert ran.code == 1
    assert "The key of the log is another than before." in ran.err
    assert str(KEY.verifier) in ran.err


def test_a_key_from_elsewhere_is_held_against_the_server_s(verify: Verify) -> None:
    assert verify("--key", str(KEY.verifier)).code == 0
    other = Key(KEY.name, bytes([8] * 32)).verifier
    ran = verify("--key", str(other))
    assert ran.code == 1
    assert f"It was {other}" in ran.err


def test_a_log_that_is_gone_is_missed(
    season: Season, verify: Verify, server: Server, run: Run
) -> None:
    assert verify().code == 0
    gone = problem(404, "not_found", "There is no such page.")
    server.on("GET", "competitions/played/log/", gone)
    ran = run("verify", "played")
    assert ran.code == 1
    assert "The server shows no log: There is no such page." in ran.err


def test_without_a_log_the_ledger_is_verified(verify: Verify, server: Server, run: Run) -> None:
    assert verify().code == 0
    logs.Store(URL, "played").folder.rename(config_path().parent / "away")
    server.on("GET", "competitions/played/log/", problem(404, "not_found", "No log."))
    ran = run("verify", "played")
    assert ran.code == 0, ran.err
    assert "There is no public log to compare with: No log." in ran.err


def test_a_submission_that_has_time_left_is_no_difference(season: Season, verify: Verify) -> None:
    log = Logged()
    keep(log.accept("a1", 9, digest(9), "2999-01-01T00:00:00+00:00"))
    ran = verify()
    assert ran.code == 0, ran.err
    assert "Submission 9 is not in the log yet; it has time." in ran.err


def test_an_accepted_file_without_an_outcome_is_reported(season: Season, verify: Verify) -> None:
    season.log.accept("a1", 3, digest(9), sent_at(50))
    ran = verify()
    assert ran.code == 0, ran.err
    assert "Submission 3 of team a1 was accepted at 2026-01-01T00:00:50+00:00" in ran.err


def test_a_head_that_the_witness_never_signed_is_refused(season: Season, verify: Verify) -> None:
    ran = verify("--witness", str(WITNESS.verifier))
    assert ran.code == 1
    assert "witness.example/w1 has signed no head at all" in ran.err


def test_a_witness_s_signature_is_enough(season: Season, verify: Verify) -> None:
    note = Note.parse(season.log.note)
    season.log.cosigned = [str(note.and_signed(WITNESS.sign(note.text, int(time.time()))))]
    season.log.team("d4", "Lates", "2999-01-01T00:00:00+00:00")
    ran = verify("--witness", str(WITNESS.verifier))
    assert ran.code == 0, ran.err
    assert "1 entry is newer than what a witness has seen." in ran.err


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda log: log.change(8, at=sent_at(1)), "It is not the one that heads.jsonl saw"),
        (lambda log: log.entries.pop(), "It ends before what heads.jsonl saw"),
        (lambda log: log.team("d4", "Lates", OPENED), "Log entry 18, at: It is of 2026"),
    ],
)
def test_a_witness_s_file_shows_what_others_saw(
    change: Callable[[Logged], object],
    named: str,
    season: Season,
    verify: Verify,
    tmp_path: Path,
) -> None:
    seen = {"origin": KEY.name, "key": str(KEY.verifier), "note": season.log.note}
    path = tmp_path / "heads.jsonl"
    path.write_text(json.dumps({"address": URL, "seen_at": "2026-06-01T00:00:00+00:00"} | seen))
    change(season.log)
    ran = verify("--witness", str(path))
    assert ran.code == 1
    assert named in ran.err


def test_submitting_keeps_the_receipt(
    season: Season, server: Server, run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "predictions.csv"
    file.write_text("id,label\n")
    sent = {
        "number": 1,
        "status": "queued",
        "summary": "",
        "receipt": season.receipts[0],
        "limits": {"summary": "4 left."},
    }
    server.on("GET", "competitions/played/submissions/", page())
    server.on("POST", "competitions/played/submissions/", ok(sent, 201))
    ran = run("submit", "played", "-f", str(file))
    assert ran.code == 0, ran.err
    assert logs.Store(URL, "played").receipts() == [season.receipts[0]]
    assert "The receipt is for another file" in ran.err
