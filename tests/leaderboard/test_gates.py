"""Gates: asked once each, one bit, charged and verified; what is refused counts nothing."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction

from leaderboard import organize, queries, tasks, words
from leaderboard.errors import Refused
from leaderboard.ledger import rewinds
from leaderboard.ledger.recovery import recover
from leaderboard.log import heads, journal
from leaderboard.models import (
    Competition,
    Gate,
    Ledger,
    LedgerNote,
    LogEntry,
    NoteKind,
    Release,
    Rescore,
    Standing,
    Status,
    Submission,
    Team,
)
from leaderboard.operate.log_verification import verify_log
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.gates import NewGate, make_gate, promote_gate, retire_gate
from leaderboard.organize.revisions import revise_solution
from leaderboard.organize.settings import change_settings
from leaderboard.participate import campaigns, membership, selection
from leaderboard.pipeline import publish
from scoring.chain import document_hash
from scoring.verification.run import verify
from tests import ending
from tests.cast import (
    World,
    ledger_of,
    make_competition,
    predictions,
    set_round,
    solution,
    upload,
)
from tests.snapshots import kept

ROWS, PUBLIC, GATES = 400, 100, 6
GUARD = {"steps": "50", "budget": "20", "team_share": "5", "confidence": "0.95"}


def make_gated(world: World, slug: str) -> Competition:
    """Make a competition with Guard and six gates: 100 Public and 300 Private rows."""
    return make_competition(
        slug,
        world.organizer,
        rows=ROWS,
        public=PUBLIC,
        mechanism="guard",
        mechanism_parameters=GUARD,
        gate_limit=GATES,
    )


@pytest.fixture
@kept
def gated(world: World) -> Competition:
    return make_gated(world, "gated")


@pytest.fixture
def alice(world: World, gated: Competition) -> Team:
    return world.join(world.alice, competition=gated)


@pytest.fixture
def bob(world: World, gated: Competition) -> Team:
    return world.join(world.bob, competition=gated)


def wrong(rows: int, start: int = PUBLIC) -> bytes:
    """A file that errs on so many Private rows."""
    return predictions(wrong=range(start, start + rows), rows=ROWS)


def make(competition: Competition, world: World, **fields: Any) -> Gate:
    """Make a gate; a mark of 0.8 unless other fields are given."""
    given: dict[str, Any] = {"name": "ci", "kind": "mark", "mark": 0.8}
    new = NewGate(**(given | fields))
    return make_gate(competition.current_round.board, new, by=world.organizer)


def compare_with(competition: Competition, world: World, **fields: Any) -> Gate:
    """Make a gate that compares with a file that errs on 60 of the 300 Private rows."""
    in_use = world.score(Team.objects.get(competition=competition, captain=world.alice), wrong(60))
    return make(competition, world, mark=None, in_use=in_use, **fields)


def notes(competition: Competition) -> list[dict[str, Any]]:
    found = LedgerNote.objects.filter(kind=NoteKind.GATE, holdout__ledger__competition=competition)
    return [note.document for note in found.order_by("number")]


def said(submission: Submission) -> bool:
    assert submission.gate_answer is not None
    return bool(submission.gate_answer.document["yes"])


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


def assert_verified(competition: Competition) -> None:
    """Ledger and log are as they must be: for the server with its vault, and for anybody."""
    assert verify_ledger(ledger_of(competition)).report.difference is None
    assert verify(lines(competition)).difference is None
    verify_log(competition)


def test_a_bit_is_exposure_of_its_campaign_once(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    campaigns.begin(team=alice, user=world.alice, name="night", limit=None)
    for _ in range(2):
        world.score(alice, wrong(60), gate="ci", campaign="night")
    (row,) = queries.campaign_rows(alice)
    everybody = queries.competition_exposure(gated, world.organizer)
    assert row.exposure == queries.team_exposure(alice)
    assert everybody is not None
    for told in (row.exposure, everybody):
        assert (told.questions, told.informative) == (1, 1)
        assert told.nats == pytest.approx(0.693148)


# --- Asking ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("errors", "passed"), [(60, True), (61, False)])
def test_a_mark_answers_with_one_bit_and_no_board_learns_of_it(
    world: World, gated: Competition, alice: Team, errors: int, passed: bool
) -> None:
    make(gated, world)
    sent = world.score(alice, wrong(errors), gate="ci")
    assert (sent.status, said(sent), sent.release) == (Status.RELEASED, passed, None)
    assert not Release.objects.exists()
    assert not Standing.objects.exists()
    assert ledger_of(gated).account["gates"] == 1
    assert_verified(gated)


@pytest.mark.parametrize(
    ("kind", "fields", "errors", "passed"),
    [
        ("not_worse", {"tolerance": 0.02}, 66, True),
        ("not_worse", {"tolerance": 0.02}, 67, False),
        ("better", {}, 0, True),
        ("better", {}, 55, False),
    ],
)
def test_the_others_compare_with_the_file_in_use(
    world: World,
    gated: Competition,
    alice: Team,
    kind: str,
    fields: dict[str, float],
    errors: int,
    passed: bool,
) -> None:
    compare_with(gated, world, kind=kind, **fields)
    assert said(world.score(alice, wrong(errors), gate="ci")) is passed
    assert_verified(gated)


def test_a_gate_may_say_on_how_many_rows_files_may_differ(
    world: World, gated: Competition, alice: Team
) -> None:
    compare_with(gated, world, kind="not_worse", tolerance=0.02, differing=0.05)
    assert said(world.score(alice, wrong(66), gate="ci"))
    sent = world.score(alice, wrong(90), gate="ci")
    assert (sent.status, sent.problems[0]["code"]) == (Status.REJECTED, "differs_too_much")
    assert len(notes(gated)) == 1
    assert_verified(gated)


def test_the_same_predictions_get_the_stored_bit_and_cost_nothing(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    first = world.score(alice, wrong(10), gate="ci")
    left = queries.quota(alice).daily_left
    account = ledger_of(gated).account
    same = world.score(alice, wrong(10), gate="ci")
    others = wrong(10).replace(b"id,label", b"id,label\n", 0).replace(b"\n", b"\r\n")
    again = world.score(alice, others, gate="ci")
    assert {same.gate_answer_id, again.gate_answer_id} == {first.gate_answer_id}
    assert ledger_of(gated).account == account
    assert queries.quota(alice).daily_left == left
    assert "nothing was asked" in words.summary(queries.submission_row(same))
    assert_verified(gated)


def test_another_team_and_the_boards_are_asked_anew(
    world: World, gated: Competition, alice: Team, bob: Team
) -> None:
    make(gated, world)
    world.score(alice, wrong(10), gate="ci")
    world.score(bob, wrong(10), gate="ci")
    scored = world.score(alice, wrong(10))
    assert len(notes(gated)) == 2
    assert scored.release is not None
    assert scored.takes_quota
    assert_verified(gated)


def test_a_file_of_a_gate_is_no_candidate_for_the_finals(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    sent = world.score(alice, wrong(10), gate="ci")
    with pytest.raises(Refused) as found:
        selection.select(team=alice, user=world.alice, numbers=[sent.number])
    assert found.value.code == "not_released"
    assert not selection.entered(gated.current_round).exists()


# --- Refusals -------------------------------------------------------------------------------------


def refused(world: World, team: Team, content: bytes, gate: str = "ci") -> Refused:
    counted = Submission.objects.count()
    with pytest.raises(Refused) as found:
        world.submit(team, content, gate=gate)
    assert Submission.objects.count() == counted
    return found.value


def test_a_gate_that_is_unknown_or_retired_takes_nothing(
    world: World, gated: Competition, alice: Team
) -> None:
    retire_gate(make(gated, world), by=world.organizer)
    assert refused(world, alice, wrong(1)).fields.keys() == {"gate"}
    assert refused(world, alice, wrong(1), "no such").fields.keys() == {"gate"}
    assert_verified(gated)


def test_no_more_gates_are_answered_than_were_declared(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    late = [world.submit(alice, wrong(each), gate="ci") for each in range(GATES + 1)]
    for each in late:
        tasks.score_submission(submission_id=each.pk)
    late[-1].refresh_from_db()
    assert len(notes(gated)) == GATES
    assert (late[-1].status, late[-1].problems[0]["code"]) == (Status.REJECTED, "gate_closed")
    assert refused(world, alice, wrong(30)).facts["variant"] == "none_left"
    assert world.score(alice, wrong(1), gate="ci").gate_answer is not None
    assert_verified(gated)


def test_a_gate_closes_once_its_announced_margin_is_not_kept(
    world: World, gated: Competition, alice: Team, bob: Team
) -> None:
    now = queries.gate_row(make(gated, world), ledger_of(gated), active(gated)).margin
    make(gated, world, name="tight", margin=now + 1e-6)
    for errors in (2, 10, 40, 80):
        world.score(bob, predictions(wrong=range(0, 4 * errors, 4), rows=ROWS))
    assert refused(world, alice, wrong(1), "tight").facts["variant"] == "margin"
    assert world.score(alice, wrong(1), gate="ci").gate_answer is not None


def active(competition: Competition) -> Any:
    return competition.current_round.active_holdout


def test_a_round_that_declared_none_has_none(world: World) -> None:
    with pytest.raises(Refused) as found:
        make(world.digits, world)
    assert found.value.code == "gate_closed"


def test_gates_end_when_the_finals_start(world: World, gated: Competition, alice: Team) -> None:
    make(gated, world)
    waiting = world.submit(alice, wrong(1), gate="ci")
    set_round(gated, finals_started_at=waiting.created_at)
    tasks.score_submission(submission_id=waiting.pk)
    waiting.refresh_from_db()
    assert (waiting.status, notes(gated)) == (Status.REJECTED, [])


def test_a_hidden_board_declares_no_gates(world: World, gated: Competition) -> None:
    organize.return_to_draft(gated)
    with pytest.raises(Refused) as found:
        change_settings(gated, world.organizer, is_hidden=True, team_limit=3, question_limit=60)
    assert found.value.fields.keys() == {"gate_limit"}


def test_an_opening_that_has_gates_is_not_taken_back(world: World, gated: Competition) -> None:
    make(gated, world)
    with pytest.raises(Refused) as found:
        organize.return_to_draft(gated)
    assert found.value.code == "frozen"


# --- Making ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": "a b"}, "name"),
        ({"kind": "beter"}, "kind"),
        ({"mark": None}, "mark"),
        ({"mark": 7.0}, "mark"),
        ({"mark": float("nan")}, "mark"),
        ({"tolerance": 0.1}, "tolerance"),
        ({"kind": "not_worse", "mark": None, "tolerance": 0.1}, "in_use"),
        ({"margin": 1e-9}, "margin"),
    ],
)
def test_a_gate_that_cannot_be_asked_names_its_field(
    world: World, gated: Competition, fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(Refused) as found:
        make(gated, world, **fields)
    assert field in found.value.fields
    assert not Gate.objects.exists()


def test_a_name_is_taken_until_its_gate_is_retired(world: World, gated: Competition) -> None:
    first = make(gated, world)
    with pytest.raises(Refused) as found:
        make(gated, world)
    assert found.value.fields.keys() == {"name"}
    retire_gate(first, by=world.organizer)
    assert make(gated, world).uid != first.uid
    verify_log(gated)


def test_a_file_that_passed_may_take_the_place_of_the_one_in_use(
    world: World, gated: Competition, alice: Team
) -> None:
    gate = compare_with(gated, world, kind="not_worse", tolerance=0.02)
    bad, good = (world.score(alice, wrong(each), gate="ci") for each in (90, 20))
    with pytest.raises(Refused) as found:
        promote_gate(gate, bad, by=world.organizer)
    assert found.value.fields.keys() == {"submission"}
    after = promote_gate(gate, good, by=world.organizer)
    assert (after.name, after.in_use, after.bound) == ("ci", good, gate.bound)
    assert not said(world.score(alice, wrong(60), gate="ci"))
    assert_verified(gated)


# --- Crashes, revisions, rewinds, mergers ---------------------------------------------------------


@pytest.mark.parametrize("where", ["lock.check", "watermark.append"])
def test_a_worker_that_dies_loses_nothing_and_asks_nothing_twice(
    world: World, gated: Competition, alice: Team, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    make(gated, world)
    world.score(alice, wrong(5))
    sent = world.submit(alice, wrong(10), gate="ci")

    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(f"leaderboard.pipeline.gates.{where}", die)
        with pytest.raises(SystemExit):
            tasks.score_submission(submission_id=sent.pk)
    assert len(notes(gated)) == (where == "watermark.append")
    Submission.objects.filter(status=Status.SCORING).update(status=Status.QUEUED)
    tasks.score_submission(submission_id=sent.pk)
    sent.refresh_from_db()
    assert (said(sent), len(notes(gated))) == (True, 1)
    world.score(alice, wrong(20))
    assert_verified(gated)


def test_a_revision_asks_anew_and_is_charged_to_gates(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    first = world.score(alice, wrong(10), gate="ci")
    revise_solution(
        gated.current_round,
        upload(solution(ROWS, PUBLIC).replace(b"r399,3,", b"r399,0,"), "solution.csv"),
        reason="A label.",
        rescore=Rescore.ALL,
        by=world.organizer,
    )
    gated.refresh_from_db()
    first.refresh_from_db()
    assert first.status == Status.RELEASED
    again = world.score(alice, wrong(10), gate="ci")
    before, after = notes(gated)
    assert again.gate_answer_id != first.gate_answer_id
    assert after["length"] > before["length"]
    assert_verified(gated)


def test_lost_gates_are_replayed_from_the_published_ledger(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    world.score(alice, wrong(5))
    backup = transaction.savepoint()
    world.score(alice, wrong(10), gate="ci")
    make(gated, world, name="later", mark=0.9)
    world.score(alice, wrong(20), gate="later")
    published, account = lines(gated), ledger_of(gated).account
    transaction.savepoint_rollback(backup)
    assert rewinds.replay(gated.current_round, published) == 2
    assert verify_log(gated) > 0
    assert (lines(gated), ledger_of(gated).account) == (published, account)
    assert [said(each) for each in alice.submissions.filter(gate__isnull=False)] == [True, True]
    assert verify(lines(gated)).difference is None


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_what_the_log_s_copy_has_of_an_answer_is_told_once(
    world: World, gated: Competition, alice: Team, kept: int
) -> None:
    make(gated, world)
    sent = world.submit(alice, wrong(10), gate="ci")
    heads.sign(gated)
    before = len(journal.file_of(gated.uid).read_bytes().splitlines())
    backup = transaction.savepoint()
    tasks.score_submission(submission_id=sent.pk)
    heads.sign(gated)
    published, copied = lines(gated), journal.file_of(gated.uid).read_bytes().splitlines(True)
    journal.file_of(gated.uid).write_bytes(b"".join(copied[: before + kept]))
    transaction.savepoint_rollback(backup)
    assert recover(gated) == kept
    assert rewinds.replay(gated.current_round, published) == 1
    assert verify_log(gated) > 0
    assert LogEntry.objects.filter(kind__in=("noted", "gated")).count() == 2


def test_lost_gates_that_are_written_off_are_counted(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    world.score(alice, wrong(5))
    backup = transaction.savepoint()
    world.score(alice, wrong(10), gate="ci")
    transaction.savepoint_rollback(backup)
    assert rewinds.give_up(gated.current_round) is not None
    assert ledger_of(gated).account["gates"] == 1
    assert verify(lines(gated)).difference is None


def test_teams_that_became_one_keep_their_answers(
    world: World, gated: Competition, alice: Team, bob: Team
) -> None:
    make(gated, world)
    first = world.score(alice, wrong(10), gate="ci")
    membership.merge(team=alice, into=bob, by=world.organizer)
    again = world.score(bob, wrong(10), gate="ci")
    assert again.gate_answer_id == first.gate_answer_id
    assert_verified(gated)


# --- Verification ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("yes", False),
        ("length", 1),
        ("against", "f" * 64),
        ("asks", {"kind": "mark", "bound": "1/2"}),
        ("predictions_tag", "f" * 64),
    ],
)
def test_a_gate_that_was_changed_is_found(
    world: World, gated: Competition, alice: Team, field: str, value: object
) -> None:
    make(gated, world)
    world.score(alice, wrong(10), gate="ci")
    note = LedgerNote.objects.get(kind=NoteKind.GATE)
    rewritten = note.document | {field: value}
    LedgerNote.objects.filter(pk=note.pk).update(document=rewritten, hash=document_hash(rewritten))
    Ledger.objects.filter(pk=note.holdout.ledger_id).update(head_hash=document_hash(rewritten))
    report = verify_ledger(ledger_of(gated)).report
    assert report.difference is not None or report.lost


def test_a_gate_that_the_ledger_did_not_declare_is_found(
    world: World, gated: Competition, alice: Team
) -> None:
    make(gated, world)
    world.score(alice, wrong(10), gate="ci")
    Ledger.objects.update(gate_limit=None)
    difference = verify(lines(gated)).difference
    assert difference is not None


def test_published_bits_are_computed_again(
    world: World, gated: Competition, alice: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_with(gated, world, kind="not_worse", tolerance=0.02)
    make(gated, world, name="mark")
    world.score(alice, wrong(20), gate="ci")
    world.score(alice, wrong(20), gate="mark")
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(ending.reveal(gated).current_round)
    for holdout in publish.to_publish():
        tasks.publish_holdout(holdout_id=holdout.pk)
    verified = verify_ledger(ledger_of(gated))
    assert verified.means == "publication"
    assert verified.report.difference is None
    assert (verified.report.recomputed, verified.report.lost) == (3, 0)
