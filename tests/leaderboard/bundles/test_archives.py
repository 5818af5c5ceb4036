"""A competition moves to another installation with its ledger, or is copied there to be read."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from leaderboard import organize, queries, tasks
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.models import (
    Announcement,
    Competition,
    Delivery,
    Event,
    EventKind,
    Handover,
    Holdout,
    Ledger,
    Pause,
    Release,
    Sanction,
    Standing,
    Submission,
    Team,
    User,
)
from leaderboard.notify import outbox
from leaderboard.operate import rotation
from leaderboard.operate.archives import export_archive, import_archive
from leaderboard.operate.doctor import ledgers as doctor_ledgers
from leaderboard.operate.doctor import vault as doctor_vault
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize import announcements, sanctions
from leaderboard.organize.moves import move
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import handover, intake, publish
from leaderboard.tasks import carry_out_handover, score_submission
from scoring.verification.run import verify
from tests import ending
from tests.cast import (
    World,
    add_column,
    ledger_of,
    make_checked,
    make_user,
    predictions,
    said,
    solution,
    upload,
)
from tests.leaderboard.bundles.installations import forget_all, go_elsewhere, other_key
from tests.snapshots import kept

FILES = (range(10, 20), range(10, 19), range(10, 12))


@pytest.fixture
def played(world: World) -> World:
    """Let two teams have answers."""
    _play(world)
    return world


@kept
def _play(world: World) -> None:
    for user in (world.alice, world.bob):
        team = world.join(user)
        for wrong in FILES:
            world.score(team, predictions(wrong=wrong))


@pytest.fixture
def leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], User]:
    """Leave for the other installation."""
    return lambda: go_elsewhere(tmp_path, monkeypatch)


def exported(competition: Competition, by: User, **options: Any) -> io.BytesIO:
    with export_archive(competition, by=by, **options) as file:
        return io.BytesIO(file.read())


def moved(world: World, folder: Path, **options: Any) -> io.BytesIO:
    """Move `digits`, as a worker would, and return its archive."""
    order = move(world.digits, other_key(folder), by=world.organizer)
    carry_out_handover(handover_id=order.pk)
    return exported(world.digits, world.organizer, **options)


def arrived(competition: Competition) -> Competition:
    """Have a worker open what came along."""
    for order in handover.waiting():
        carry_out_handover(handover_id=order.pk)
    return Competition.objects.get(pk=competition.pk)


def lines(competition: Competition) -> list[dict[str, Any]]:
    """Return the published ledger, without the competition's short name."""
    published = b"".join(queries.ledger_lines(ledger_of(competition))).splitlines()
    return [{k: v for k, v in json.loads(each).items() if k != "competition"} for each in published]


def rewritten(file: io.BytesIO, change: Callable[[str, bytes], bytes | None]) -> io.BytesIO:
    """Return an archive with other contents, whose manifest is left as it was."""
    out = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out


def forged(file: io.BytesIO, table: str, change: Callable[[dict[str, Any]], Any]) -> io.BytesIO:
    """Return an archive whose rows of a table are others, with a manifest that fits."""
    changed: dict[str, str] = {}

    def rows(name: str, content: bytes) -> bytes:
        if name == f"tables/{table}.jsonl":
            found = [json.loads(line) for line in content.splitlines()]
            for row in found:
                change(row)
            content = b"".join(json.dumps(row).encode() + b"\n" for row in found)
            changed[name] = hashlib.sha256(content).hexdigest()
        elif name == "archive.json":
            document = json.loads(content)
            document["files"] |= changed
            content = json.dumps(document).encode()
        return content

    return rewritten(file, rows)


def refused(file: io.BytesIO, by: User, **options: Any) -> str:
    before = [model.objects.count() for model in (Competition, Team, Event, User, Ledger)]
    with pytest.raises(Refused) as caught:
        import_archive(file, by=by, **options)
    after = [model.objects.count() for model in (Competition, Team, Event, User, Ledger)]
    assert before == after
    return str(caught.value)


def test_a_copy_has_the_same_ledger_and_verifies(
    played: World, leave: Callable[[], User], capsys: pytest.CaptureFixture[str]
) -> None:
    before = lines(played.digits)
    places = list(Standing.objects.order_by("team__uid").values_list("team__uid", "loss"))
    file = exported(played.digits, played.organizer)
    copy = import_archive(file, by=leave())
    assert lines(copy) == before
    assert places == list(Standing.objects.order_by("team__uid").values_list("team__uid", "loss"))
    call_command("verify", copy.slug)
    assert "Verified." in capsys.readouterr().out
    assert verify(queries.lines_of(ledger_of(copy))).difference is None


def test_what_organizers_left_out_stays_out_of_a_copy(
    played: World, leave: Callable[[], User]
) -> None:
    best = played.board.standings.filter(best__isnull=False).order_by("loss").first()
    assert best is not None
    assert best.best is not None
    left_out = best.best.submission
    sanctions.sanction_submission(left_out, "Hand labels.", by=played.organizer)
    copy = import_archive(exported(played.digits, played.organizer), by=leave())
    assert Sanction.objects.get().reason == "Hand labels."
    assert verify_ledger(ledger_of(copy)).report.difference is None


def test_a_copy_answers_nobody(played: World, leave: Callable[[], User]) -> None:
    copy = import_archive(exported(played.digits, played.organizer), by=leave())
    assert copy.current_round.paused_for == Pause.ARCHIVED
    team = copy.teams.get(name="team alice")
    with pytest.raises(Refused, match="copy of a competition"):
        intake.submit(team=team, user=team.captain, upload=upload(predictions()))
    with pytest.raises(Refused, match="copy of a competition"):
        revise_solution(copy.current_round, upload(solution()), by=None, reason="Why not?")
    with pytest.raises(Refused, match="copy without its secrets"):
        move(copy, "0" * 64, by=None)


def test_a_copy_tells_nobodys_name(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer)
    with zipfile.ZipFile(file) as archive:
        told = b"".join(archive.read(name) for name in archive.namelist())
    assert b"@example.org" not in told
    assert b'"username"' not in told
    copy = import_archive(file, by=leave())
    captain = copy.teams.get(name="team alice").captain
    assert captain.username.startswith("archived-")
    assert not captain.is_active


def test_people_come_along_where_the_owner_asks(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer, with_people=True)
    host = leave()
    bob = make_user("robert")
    User.objects.filter(pk=bob.pk).update(email="BOB@example.org")
    copy = import_archive(file, by=host)
    captains = {team.name: team.captain for team in copy.teams.all()}
    assert captains["team bob"] == bob
    assert captains["team alice"].username == "alice"
    assert not captains["team alice"].has_usable_password()


def test_names_that_no_account_can_have_are_not_made(
    played: World, leave: Callable[[], User]
) -> None:
    file = exported(played.digits, played.organizer, with_people=True)
    people = iter([("admin", "x"), ("a b", "alice@example.org")])

    def rename(row: dict[str, Any]) -> None:
        row["username"], row["email"] = next(people)

    copy = import_archive(forged(file, "people", rename), by=leave())
    captains = [team.captain for team in copy.teams.order_by("name")]
    assert all(captain.username.startswith("archived-") for captain in captains)
    assert [captain.email for captain in captains] == ["", "alice@example.org"]


def test_a_web_process_that_may_only_look_at_the_watermark_imports(
    played: World, tmp_path: Path, leave: Callable[[], User], monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = moved(played, tmp_path)
    host = leave()

    def refuse(ledger: str, head: watermark.Head) -> None:
        raise watermark.WatermarkAway("It can't be written here.")

    with monkeypatch.context() as patched:
        patched.setattr(watermark, "append", refuse)
        copy = import_archive(archive, by=host)
        assert not ledger_of(copy).watermarked
        carry_out_handover(handover_id=Handover.objects.get().pk)
        assert ledger_of(copy).paused_for == Pause.ARCHIVED
    ledger = ledger_of(arrived(copy))
    assert (ledger.paused_for, ledger.watermarked) == ("", True)


def test_what_was_published_comes_along_and_verifies(
    played: World, leave: Callable[[], User]
) -> None:
    ending.close(played.digits)
    ending.score(played.digits)
    ending.reveal(played.digits)
    publish.publish(Competition.objects.get(slug="digits").current_round)
    tasks.publish_holdout(holdout_id=Holdout.objects.active().get().pk)
    copy = import_archive(exported(played.digits, played.organizer), by=leave())
    holdout = Holdout.objects.get(ledger__competition=copy)
    with holdout.publication.open("rb") as file:
        report = verify(queries.lines_of(ledger_of(copy)), {1: file})
    assert (report.difference, report.recomputed) == (None, 6)
    verified = verify_ledger(ledger_of(copy))
    assert (verified.report.difference, verified.means) == (None, "publication")


def test_nothing_leaves_while_final_scores_are_measured(played: World) -> None:
    ending.close(played.digits)
    ending.start(played.digits)
    for act in (
        lambda: export_archive(played.digits, by=played.organizer),
        lambda: move(played.digits, "0" * 64, by=played.organizer),
    ):
        with pytest.raises(Refused, match="being measured"):
            act()


def test_who_looks_after_the_site_is_not_alarmed_by_a_copy(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    import_archive(exported(played.digits, played.organizer), by=leave())
    found = [*doctor_vault.holdouts(), *doctor_ledgers.ledgers()]
    assert {str(each.state) for each in found} <= {"ok", "note"}
    before = settings.VAULT_PUBLIC_KEY_FILE.read_text()
    rotation.rotate(Path(settings.VAULT_PRIVATE_KEY_FILE), say=lambda text: None)
    assert settings.VAULT_PUBLIC_KEY_FILE.read_text() != before


def test_a_moved_ledger_goes_on_with_the_same_noise(
    world: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    """The answer that comes next is the one that it would have been at home."""
    checked = make_checked("checked", world.organizer)
    team = world.join(world.alice, competition=checked)
    files = [predictions(range(20, 20 + 3 * n), rows=100) for n in range(1, 8)]
    for each in files[:3]:
        world.score(team, each)
    world.digits = checked
    archive = moved(world, tmp_path, with_people=True)
    Ledger.objects.update(paused_at=None, paused_for="", paused_because="")
    watermark.file_of(ledger_of(checked).uid).write_bytes(
        watermark.file_of(ledger_of(checked).uid).read_bytes().replace(b"moved\n", b"")
    )
    expected = [_document(world.score(team, each)) for each in files[3:]]
    competition = arrived(import_archive(archive, by=leave()))
    assert competition.current_round.paused_for == ""
    there = competition.teams.get()
    answers = []
    for each in files[3:]:
        sent = intake.submit(team=there, user=there.captain, upload=upload(each))
        score_submission(submission_id=sent.pk)
        sent.refresh_from_db()
        answers.append(_document(sent))
    assert answers == expected
    assert any(kind == "corrected" for kind, *_ in expected)
    verified = verify_ledger(ledger_of(competition))
    assert (verified.report.difference, verified.means, verified.watermarked) == (
        None,
        "vault",
        True,
    )


def _document(submission: Submission) -> tuple[Any, ...]:
    found = said(submission)
    names = ("kind", "level", "number", "budget_left", "share_left", "predictions_tag", "question")
    return tuple(getattr(found, name) for name in names)


def test_the_same_file_gets_the_same_answer_after_a_move(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    archive = moved(played, tmp_path, with_people=True)
    competition = arrived(import_archive(archive, by=leave()))
    team = competition.teams.get(name="team alice")
    first = Release.objects.filter(team=team).order_by("number").first()
    assert first is not None
    sent = intake.submit(team=team, user=team.captain, upload=upload(predictions(FILES[0])))
    score_submission(submission_id=sent.pk)
    sent.refresh_from_db()
    assert said(sent).repeat_of == first


def test_the_secrets_leave_sealed_and_are_told(played: World, tmp_path: Path) -> None:
    archive = moved(played, tmp_path)
    kinds = Event.objects.values_list("kind", flat=True)
    assert {EventKind.LEDGER_MOVED, EventKind.SECRETS_EXPORTED} <= set(kinds)
    with zipfile.ZipFile(archive) as opened:
        box = opened.read("secrets.box")
        told = b"".join(opened.read(name) for name in opened.namelist() if name != "secrets.box")
    assert b"boxes" not in box
    assert b"sealed_secret" not in told
    assert b"sealed_solution" not in told


def test_a_moved_ledger_answers_nobody_here_for_good(played: World, tmp_path: Path) -> None:
    moved(played, tmp_path)
    team = played.digits.teams.get(name="team alice")
    with pytest.raises(Refused, match="goes on at another installation"):
        played.submit(team, predictions([30]))
    with pytest.raises(Refused, match="another installation"):
        revise_solution(played.round, upload(solution()), by=None, reason="Why not?")
    with pytest.raises(Refused, match="It was moved before"):
        move(played.digits, "0" * 64, by=played.organizer)


def test_a_backup_from_before_the_move_answers_nobody(played: World, tmp_path: Path) -> None:
    moved(played, tmp_path)
    Ledger.objects.update(paused_at=None, paused_for="", paused_because="")
    with pytest.raises(watermark.MoveUndone):
        lock.check(ledger_of(played.digits))


def test_the_watermark_learns_of_the_move_before_the_secrets_leave(
    played: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(ledger: str) -> None:
        raise watermark.WatermarkAway("It is away.")

    order = move(played.digits, other_key(tmp_path), by=played.organizer)
    monkeypatch.setattr(watermark, "move", refuse)
    carry_out_handover(handover_id=order.pk)
    order.refresh_from_db()
    assert (order.finished_at, order.file.name) == (None, "")
    monkeypatch.undo()


def test_an_older_archive_does_not_go_on_with_newer_secrets(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    old = exported(played.digits, played.organizer)
    played.score(played.digits.teams.get(name="team alice"), predictions([33]))
    with zipfile.ZipFile(moved(played, tmp_path)) as opened:
        box = opened.read("secrets.box")
    with zipfile.ZipFile(old, "a") as opened:
        opened.writestr("secrets.box", box)
    host = leave()
    assert "the manifest doesn't name it" in refused(old, host)
    digest = hashlib.sha256(box).hexdigest()

    def name_it(name: str, content: bytes) -> bytes:
        if name != "archive.json":
            return content
        document = json.loads(content)
        document["files"]["secrets.box"] = digest
        return json.dumps(document).encode()

    copy = arrived(import_archive(rewritten(old, name_it), by=host))
    assert copy.current_round.paused_for == Pause.ARCHIVED
    assert "have come further" in Handover.objects.get().failure


def test_secrets_for_another_vault_stay_closed(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    third = tmp_path / "third"
    third.mkdir()
    copy = arrived(import_archive(moved(played, third), by=leave()))
    assert copy.current_round.paused_for == Pause.ARCHIVED
    assert "doesn't open this box" in Handover.objects.get().failure


def test_the_watermark_here_learns_of_the_ledger(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer)
    ledger = ledger_of(import_archive(file, by=leave()))
    assert ledger.watermarked
    assert watermark.read(ledger.uid) == watermark.Head(ledger.entries, ledger.head_hash)


def test_an_older_archive_is_refused_once_a_newer_one_was_here(
    played: World, leave: Callable[[], User]
) -> None:
    old = exported(played.digits, played.organizer)
    played.score(played.digits.teams.get(name="team alice"), predictions([33]))
    new = exported(played.digits, played.organizer)
    host = leave()
    import_archive(new, by=host)
    assert "has that competition already" in refused(new, host, slug="again")
    host = forget_all()
    assert "has seen more of the ledger" in refused(old, host)


def test_a_revised_ledger_with_columns_merges_and_finals_moves_whole(
    world: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    checked = add_column(make_checked("checked", world.organizer), world.organizer)
    for user in (world.alice, world.bob):
        team = world.join(user, competition=checked)
        for wrong in (range(20, 40), range(20, 35)):
            world.score(team, predictions(wrong, rows=100))
    revise_solution(
        checked.current_round,
        upload(solution(100, 20).replace(b"r50,2", b"r50,3")),
        by=world.organizer,
        reason="A typo.",
        rescore="none",
    )
    for user in (world.alice, world.bob):
        world.score(checked.teams.get(captain=user), predictions(range(20, 30), rows=100))
    ending.close(checked)
    ending.score(checked)
    before = lines(checked)
    world.digits = checked
    archive = moved(world, tmp_path)
    copy = arrived(import_archive(archive, by=leave()))
    assert lines(copy) == before
    verified = verify_ledger(ledger_of(copy))
    assert verified.report.difference is None
    assert verified.finals
    assert watermark.has_ended(ledger_of(copy).uid)
    assert Holdout.objects.filter(ledger__competition=copy).exclude(sealed_solution="").count() == 3


def test_a_move_waits_for_what_is_scored(played: World) -> None:
    played.submit(played.digits.teams.get(name="team alice"), predictions([31]))
    with pytest.raises(Refused, match="1 submission is still on the way"):
        move(played.digits, "0" * 64, by=played.organizer)


@pytest.mark.parametrize("key", ["", "x" * 64, "0" * 63])
def test_a_key_has_to_be_one(played: World, key: str) -> None:
    with pytest.raises(Refused, match="64 digits"):
        move(played.digits, key, by=played.organizer)
    assert played.round.paused_for == ""


def test_a_draft_is_no_archive(world: World) -> None:
    organize.return_to_draft(world.digits, by=world.organizer)
    for act in (
        lambda: move(world.digits, "0" * 64, by=world.organizer),
        lambda: export_archive(world.digits, by=world.organizer),
    ):
        with pytest.raises(Refused, match="export it as a bundle"):
            act()


def test_a_file_that_was_changed_is_named(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer)
    host = leave()
    longer = rewritten(file, lambda n, c: c + b" " if n == "tables/team.jsonl" else c)
    assert "tables/team.jsonl is not what was written" in refused(longer, host)
    without = rewritten(file, lambda n, c: None if n == "tables/release.jsonl" else c)
    assert "tables/release.jsonl is missing" in refused(without, host)
    bare = rewritten(file, lambda n, c: None if n == "archive.json" else c)
    assert "archive.json is missing" in refused(bare, host)
    broken = rewritten(file, lambda n, c: b"[]" if n == "archive.json" else c)
    assert "archive.json is not what" in refused(broken, host)


@pytest.mark.parametrize(
    ("table", "change", "told"),
    [
        ("release", lambda row: row.update(level=3), "does not verify"),
        ("boardstate", lambda row: row.update(firings=77), "does not verify"),
        ("standing", lambda row: row.update(loss=0.0), "does not verify"),
        ("team", lambda row: row.update(captain_id=10**6), "captain names nobody"),
        ("release", lambda row: row.update(board_id=10**6), "board names no row"),
        ("team", lambda row: row.update(colour="red"), "“colour” is not known here"),
        ("submission", lambda row: row.update(file="/etc/passwd"), "stored file of the archive"),
        ("submission", lambda row: row.update(created_at="soon"), "this is no value of it"),
        ("team", lambda row: row.update(name="n" * 100), "it has at most 60 characters"),
        ("submission", lambda row: row.update(status="perfect"), "contradict each other"),
        ("ledger", lambda row: row.update(entries=0), "not those that the manifest names"),
    ],
)
def test_rows_that_were_forged_are_refused(
    played: World, leave: Callable[[], User], table: str, change: Any, told: str
) -> None:
    file = forged(exported(played.digits, played.organizer), table, change)
    assert told in refused(file, leave())


def test_a_short_name_that_is_taken_is_refused(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer)
    host = leave()
    import_archive(file, by=host)
    assert "already" in refused(file, host)


def test_only_owners_export_archives_and_move(played: World) -> None:
    editor = make_user("editor", is_organizer=True)
    for act in (
        lambda: export_archive(played.digits, by=editor),
        lambda: move(played.digits, "0" * 64, by=editor),
    ):
        with pytest.raises(Refused) as caught:
            act()
        assert caught.value.code == "not_allowed"


def test_the_command_writes_and_imports(
    played: World, leave: Callable[[], User], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "archive.zip"
    call_command("archive", "export", "digits", str(file))
    with pytest.raises(CommandError, match="File exists"):
        call_command("archive", "export", "digits", str(file))
    with pytest.raises(CommandError, match="There is no competition nothing"):
        call_command("archive", "export", "nothing", str(tmp_path / "other.zip"))
    leave()
    with pytest.raises(CommandError, match="There is no account called nobody"):
        call_command("archive", "import", str(file), "--owner", "nobody")
    call_command("archive", "import", str(file), "--owner", "host", "--slug", "copied")
    assert "Imported as copied." in capsys.readouterr().out
    with pytest.raises(CommandError, match="has that competition already"):
        call_command("archive", "import", str(file), "--owner", "host")


def test_what_was_told_there_is_not_told_again(played: World, leave: Callable[[], User]) -> None:
    announcements.announce(played.digits, by=played.organizer, title="Hello", text="**Hi**")
    file = exported(played.digits, played.organizer, with_people=True)
    copy = import_archive(file, by=leave())
    assert Announcement.objects.get(competition=copy).text == "**Hi**"
    while outbox.fan_out(copy.pk):
        pass
    assert not Delivery.objects.exists()
