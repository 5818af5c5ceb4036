"""Teams that become one, people who leave, and rounds that come later: nothing is won back."""

from collections.abc import Callable
from datetime import timedelta
from io import BytesIO

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from leaderboard import organize, queries
from leaderboard.errors import Refused
from leaderboard.ledger import rewinds, watermark
from leaderboard.models import (
    Competition,
    FinalScore,
    Invitation,
    Ledger,
    LedgerNote,
    Membership,
    Pause,
    Release,
    Round,
    Standing,
    Submission,
    Team,
    TeamState,
    User,
)
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.revisions import revise_solution
from leaderboard.participate import membership, quotas
from leaderboard.pipeline.queue import requeue_failed, startable
from leaderboard.tasks import score_submission
from scoring.verification.ledgers import check_since
from scoring.verification.run import verify
from tests import ending, snapshots
from tests.cast import (
    CHECKED_PUBLIC_ROWS,
    CHECKED_ROWS,
    World,
    add_column,
    ledger_of,
    make_competition,
    make_user,
    predictions,
    set_round,
    solution,
    upload,
)


@pytest.fixture
def carol(world: World) -> User:
    return make_user("carol")


@pytest.fixture
@snapshots.kept
def columns(world: World) -> Competition:
    """A competition whose round has a Ladder, which ranks, and a Thresholdout beside it."""
    competition = make_competition(
        "columns", world.organizer, rows=CHECKED_ROWS, public=CHECKED_PUBLIC_ROWS
    )
    return add_column(competition, world.organizer)


def wrong(first: int) -> bytes:
    """A file that is right on the rows before `first` alone."""
    return predictions(wrong=range(first, CHECKED_ROWS), rows=CHECKED_ROWS)


def further_round(world: World, competition: Competition, *, continues: bool = True) -> Round:
    """Close the current round, and add one that is open now."""
    now = timezone.now()
    set_round(competition, opens_at=now - timedelta(days=2), closes_at=now - timedelta(hours=1))
    round = organize.add_round(
        competition,
        by=world.organizer,
        continues=continues,
        opens_at=now - timedelta(minutes=30),
        closes_at=now + timedelta(days=7),
    )
    competition.refresh_from_db()
    return round


def lines(competition: Competition) -> list[bytes]:
    return b"".join(queries.ledger_lines(ledger_of(competition))).splitlines(keepends=True)


def check(competition: Competition) -> None:
    """Everybody and the server itself find nothing wrong."""
    assert verify(lines(competition)).difference is None
    assert verify_ledger(ledger_of(competition)).report.difference is None


def score_all() -> None:
    while (waiting := startable().order_by("created_at", "pk").first()) is not None:
        score_submission(submission_id=waiting.pk)
    assert not Submission.objects.filter(status="queued").exists()


def fail(submission: Submission) -> None:
    Submission.objects.filter(pk=submission.pk).update(
        status="failed", finished_at=timezone.now(), failure="parse: MemoryError"
    )


def revise(world: World, competition: Competition, rescore: str = "none") -> None:
    rows = CHECKED_ROWS if competition.slug == "columns" else 40
    public = CHECKED_PUBLIC_ROWS if competition.slug == "columns" else 10
    last = b"r%d,3" % (rows - 1)
    file = upload(solution(rows, public).replace(last, last[:-1] + b"2"), "solution.csv")
    revise_solution(
        competition.current_round, file, by=world.organizer, reason="A label.", rescore=rescore
    )


def invited(world: World, team: Team, user: User) -> None:
    """Let a person join by an invitation."""
    invitation = membership.invite(team=team, user=team.captain)
    membership.join_team(invitation=invitation, user=user, accept_rules=True)


# --- Rounds that are added behind a note ----------------------------------------------------------


def _merge(world: World) -> None:
    membership.merge(team=get("bob"), into=get("alice"), by=world.organizer)


def _write_off(world: World) -> None:
    watermark.append(ledger_of(world.digits).uid, watermark.Head(9, "a" * 64))
    rewinds.give_up(world.round)


def get(captain: str) -> Team:
    return Team.objects.get(captain__username=captain)


@pytest.mark.parametrize(
    "note", [_merge, lambda world: revise(world, world.digits), _write_off],
    ids=["merger", "revision", "write-off"],
)  # fmt: skip
def test_a_ledger_stays_valid_when_a_round_is_added_behind_a_note(
    world: World, note: Callable[[World], None]
) -> None:
    for user in (world.alice, world.bob):
        world.score(world.join(user), predictions(wrong=range(10, 20)))
    note(world)
    kept = lines(world.digits)
    check(world.digits)
    further_round(world, world.digits)
    check(world.digits)
    check_since(kept, lines(world.digits))
    world.score(get("alice"), predictions(wrong=range(10, 15)))
    check(world.digits)
    revise(world, world.digits, "all")
    score_all()
    check(world.digits)


def test_a_later_round_s_board_begins_unspent_whatever_was_written_off(
    world: World, columns: Competition
) -> None:
    team = world.join(world.alice, competition=columns)
    world.score(team, wrong(20))
    watermark.append(ledger_of(columns).uid, watermark.Head(9, "a" * 64))
    rewinds.give_up(columns.current_round)
    further_round(world, columns)
    world.score(team, wrong(40))
    check(columns)
    # A note of a later day names the later board as well.
    revise(world, columns, "best")
    score_all()
    check(columns)


# --- What a merged team had sent ------------------------------------------------------------------


def merged(world: World, competition: Competition | None = None) -> tuple[Team, Team]:
    """Two teams of the same shares; the second's third file has failed, and then it is merged."""
    ours = world.join(world.alice, competition=competition)
    theirs = world.join(world.bob, competition=competition)
    for team, rows in ((ours, (60, 20)), (theirs, (90, 30))):
        for first in rows:
            world.score(team, wrong(first))
    fail(world.submit(theirs, wrong(50)))
    membership.merge(team=theirs, into=ours, by=world.organizer)
    return ours, theirs


def shares(competition: Competition) -> list[tuple[Team, int | None]]:
    states = TeamState.objects.filter(
        holdout__ledger=ledger_of(competition), holdout__retired_at=None, board__position=1
    )
    return [(state.team, state.share_left) for state in states]


def test_a_merged_team_s_failed_file_is_answered_as_the_other_s(
    world: World, columns: Competition
) -> None:
    ours, _ = merged(world, columns)
    before = shares(columns)
    assert requeue_failed(Submission.objects.filter(status="failed")) == 1
    score_all()
    entry = Release.objects.order_by("number").last()
    assert entry is not None
    assert (entry.team, entry.submission_number) == (ours, 5)
    ((team, left),) = shares(columns)
    assert team == ours
    assert left is not None
    assert left <= (before[0][1] or 0)
    assert {standing.team for standing in Standing.objects.all()} == {ours}
    check(columns)


def test_a_revision_scores_a_merged_team_s_files_again_as_the_other_s(
    world: World, columns: Competition
) -> None:
    ours, _ = merged(world, columns)
    revise(world, columns, "all")
    score_all()
    assert [team for team, _ in shares(columns)] == [ours]
    entries = Release.objects.filter(holdout__retired_at=None, board__position=0)
    assert {entry.team for entry in entries} == {ours}
    assert sorted(entry.submission_number for entry in entries) == [1, 2, 3, 4]
    ranked = Standing.objects.get(board__position=0)
    assert (ranked.team, ranked.entries) == (ours, 4)
    check(columns)


def test_a_merger_numbers_submissions_on_and_leaves_entries_as_they_were(
    world: World, columns: Competition
) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours)
    world.score(theirs, predictions(wrong=range(10, 20)))
    kept = lines(world.digits)
    membership.merge(team=theirs, into=ours, by=world.organizer)
    assert check_since(kept, lines(world.digits)) == 2
    assert [row.number for row in queries.submission_rows(ours)] == [2, 1]
    note = LedgerNote.objects.get().document
    assert (note["team"], note["into"], note["offset"]) == (theirs.uid, ours.uid, 1)
    assert world.score(ours, predictions(wrong=range(10, 11))).number == 3
    check(world.digits)


def test_a_merger_of_merged_teams_carries_all_of_them(world: World, carol: User) -> None:
    first, second, third = (world.join(user) for user in (world.alice, world.bob, carol))
    for team in (first, second, third):
        world.score(team)
    for team, into in ((first, second), (second, third)):
        membership.merge(team=team, into=into, by=world.organizer)
    assert set(Team.objects.filter(merged_into=third)) == {first, second}
    assert quotas.quota(third, world.round, timezone.now()).daily_left == 17
    revise(world, world.digits, "all")
    score_all()
    check(world.digits)


# --- Rounds that have ended -----------------------------------------------------------------------


def test_a_merger_leaves_rounds_that_have_ended_as_they_were(world: World) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours)
    world.score(theirs, predictions(wrong=range(10, 20)))
    ending.reveal(world.digits)

    def ended() -> list[object]:
        models = (Ledger, Standing, FinalScore, Submission, TeamState)
        return [list(model.objects.order_by("pk").values()) for model in models]

    before = ended()
    now = timezone.now()
    set_round(world.digits, opens_at=now - timedelta(days=3), closes_at=now - timedelta(hours=2))
    organize.add_round(
        world.digits, by=world.organizer, opens_at=now - timedelta(hours=1), closes_at=None
    )
    membership.merge(
        team=Team.objects.get(pk=theirs.pk), into=Team.objects.get(pk=ours.pk), by=world.organizer
    )
    assert ended() == before
    assert not LedgerNote.objects.exists()
    assert theirs.memberships.count() == 0
    check_round = Ledger.objects.get(rounds__number=1)
    assert verify_ledger(check_round).report.difference is None


def test_a_merger_waits_for_every_ledger_that_it_concerns(world: World) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(theirs)
    further_round(world, world.digits, continues=False)
    first = Ledger.objects.filter(rounds__number=1)
    first.update(paused_at=timezone.now(), paused_for=Pause.REWOUND)
    with pytest.raises(Refused) as refused:
        membership.merge(team=theirs, into=ours, by=world.organizer)
    assert refused.value.code == "paused"


# --- Leaving and joining --------------------------------------------------------------------------


def test_who_leaves_a_team_after_a_merger_stays_bound_to_what_it_used(world: World) -> None:
    set_round(world.digits, total_limit=2)
    ours, theirs = world.join(world.alice), world.join(world.bob)
    for first in (14, 13):
        world.score(theirs, predictions(wrong=range(10, first)))
    membership.merge(team=theirs, into=ours, by=world.organizer)
    assert quotas.quota(ours, world.round, timezone.now()).total_left == 0
    membership.leave(team=ours, user=world.bob)
    with pytest.raises(Refused, match="stays used"):
        world.join(world.bob, "fresh")


def test_a_merger_frees_nobody_who_had_left(world: World, carol: User) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    invited(world, theirs, carol)
    world.score(theirs)
    membership.leave(team=theirs, user=carol)
    membership.merge(team=theirs, into=ours, by=world.organizer)
    with pytest.raises(Refused, match="stays used"):
        world.join(carol, "fresh")


def test_what_a_former_team_sends_later_binds_nobody_who_had_left(
    world: World, carol: User
) -> None:
    theirs = world.join(world.bob)
    invited(world, theirs, carol)
    world.score(theirs)
    membership.leave(team=theirs, user=carol)
    further_round(world, world.digits)
    world.score(Team.objects.get(pk=theirs.pk))
    assert world.join(carol, "fresh").captain == carol


def test_who_left_may_come_back_to_the_same_team(world: World, carol: User) -> None:
    theirs = world.join(world.bob)
    invited(world, theirs, carol)
    world.score(theirs)
    membership.leave(team=theirs, user=carol)
    invited(world, theirs, carol)
    assert Membership.objects.get(user=carol).left_at is None


def test_a_captain_who_left_does_not_rename_the_team(world: World) -> None:
    team = world.join(world.alice)
    membership.leave(team=team, user=world.alice)
    with pytest.raises(Refused) as refused:
        membership.rename_team(team=team, user=world.alice, name="Still mine")
    assert refused.value.code == "not_a_member"


def test_who_left_takes_no_place_in_a_merged_team(world: World, carol: User) -> None:
    Competition.objects.update(team_size=2)
    ours, theirs = world.join(world.alice), world.join(world.bob)
    invited(world, theirs, carol)
    world.score(theirs)
    membership.leave(team=theirs, user=carol)
    for team in (ours, theirs):
        team.refresh_from_db()
    membership.merge(team=theirs, into=ours, by=world.organizer)
    assert ours.memberships.active().count() == 2


def test_who_left_is_not_counted_among_the_people_of_a_team(
    world: World, carol: User, client: Client
) -> None:
    theirs = world.join(world.bob)
    invited(world, theirs, carol)
    world.score(theirs)
    membership.leave(team=theirs, user=carol)
    client.force_login(world.organizer)
    page = client.get("/organize/digits/teams/")
    assert [row.members for row in page.context["found"].rows] == [1]


def _between(monkeypatch: pytest.MonkeyPatch, name: str, other_request: Callable[[], None]) -> None:
    """Let another request come first when `membership` calls this function, once."""
    real, done = getattr(membership, name), list[bool]()

    def interleaved(*given: object) -> object:
        if not done:
            done.append(True)
            other_request()
        return real(*given)

    monkeypatch.setattr(membership, name, interleaved)


@pytest.fixture
def invitation(world: World) -> Invitation:
    return membership.invite(team=world.join(world.bob), user=world.bob)


@pytest.mark.parametrize("step", ["_check_may_join", "_add"])
def test_nobody_becomes_free_by_leaving_a_team_while_joining_another(
    world: World, carol: User, invitation: Invitation, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever another request does before the check or behind it."""
    ours = world.join(world.alice)
    world.score(ours)

    def leave_another() -> None:
        now = timezone.now()
        Membership.objects.create(
            competition=world.digits, team=ours, user=carol, rules_version=1, accepted_at=now,
            left_at=now,
        )  # fmt: skip

    _between(monkeypatch, step, leave_another)
    with pytest.raises(Refused), transaction.atomic():
        membership.join_team(invitation=invitation, user=carol, accept_rules=True)
    assert not Membership.objects.active().filter(user=carol).exists()


def test_nobody_joins_a_team_of_a_round_that_closed_meanwhile(
    world: World, carol: User, invitation: Invitation
) -> None:
    """The competition was read before it closed; the lock makes the order certain."""
    assert invitation.team.competition.current_round.closes_at is not None
    Round.objects.update(closes_at=timezone.now() - timedelta(minutes=1))
    with pytest.raises(Refused) as refused:
        membership.join_team(invitation=invitation, user=carol, accept_rules=True)
    assert refused.value.code == "deadline_passed"


# --- Replaying what a restored database has forgotten ---------------------------------------------


def lose(competition: Competition, play: Callable[[], object]) -> list[bytes]:
    """Play on, publish the ledger, and restore the database from before."""
    backup = transaction.savepoint()
    play()
    published = lines(competition)
    transaction.savepoint_rollback(backup)
    return published


def test_a_replayed_merger_does_what_the_merger_did(world: World, carol: User) -> None:
    first, second, third = (world.join(user) for user in (world.alice, world.bob, carol))
    for team in (first, second, third):
        world.score(team)
    membership.merge(team=first, into=second, by=world.organizer)
    membership.invite(team=second, user=world.bob)
    failed = world.submit(second, predictions(wrong=range(10, 12)))
    fail(failed)

    def play() -> None:
        world.score(third, predictions(wrong=range(10, 20)))
        membership.merge(team=second, into=third, by=world.organizer)
        requeue_failed(Submission.objects.filter(pk=failed.pk))
        score_all()

    published = lose(world.digits, play)
    assert rewinds.replay(world.round, published) == 3
    assert set(Team.objects.filter(merged_into=third)) == {first, second}
    assert not Invitation.objects.exists()
    failed.refresh_from_db()
    assert (failed.team, failed.number, failed.status) == (third, 5, "released")
    check(world.digits)


def test_what_came_after_a_restore_gives_way_to_replayed_numbers(world: World) -> None:
    ours, theirs = world.join(world.alice), world.join(world.bob)
    world.score(ours)
    moved = world.score(theirs)
    published = lose(
        world.digits,
        lambda: membership.merge(team=theirs, into=ours, by=world.organizer),
    )
    later = world.submit(ours, predictions(wrong=range(10, 12)))
    assert rewinds.replay(world.round, published) == 1
    for submission in (moved, later):
        submission.refresh_from_db()
    assert (moved.team, moved.number) == (ours, 2)
    assert (later.team, later.number) == (ours, 4)
    check(world.digits)
    score_all()
    assert verify(BytesIO(b"".join(lines(world.digits)))).difference is None
