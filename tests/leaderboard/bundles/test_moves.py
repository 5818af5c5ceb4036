"""A competition goes on at another installation, and nowhere else."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone
from nacl.public import PublicKey, SealedBox

from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.ledger import lock, watermark
from leaderboard.models import (
    Event,
    EventKind,
    FileRole,
    Handover,
    Holdout,
    Ledger,
    Pause,
    Release,
    Submission,
    User,
)
from leaderboard.operate.archives import export_archive, import_archive
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize.moves import move, own_key
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import intake
from leaderboard.tasks import carry_out_handover, score_submission
from tests import ending
from tests.cast import (
    World,
    add_column,
    ledger_of,
    make_checked,
    make_competition,
    make_user,
    predictions,
    said,
    set_round,
    solution,
    upload,
)
from tests.leaderboard.bundles.installations import (
    FILES,
    arrived,
    exported,
    lines,
    moved,
    other_key,
    refused,
    rewritten,
)


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


def test_secrets_that_are_none_stay_closed_for_good(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    archive = moved(played, tmp_path)
    copy = import_archive(archive, by=leave())
    order = Handover.objects.get()
    key = PublicKey(bytes.fromhex(own_key()))
    for content in (b"[]", b"{}", b"x", b'{"heads": {}, "boxes": {"a": [1]}}'):
        Handover.objects.update(finished_at=None, failure="")
        order.file.save("other.box", ContentFile(bytes(SealedBox(key).encrypt(content))))
        carry_out_handover(handover_id=order.pk)
        assert "not what another vault hands over" in Handover.objects.get().failure
    assert ledger_of(copy).paused_for == Pause.ARCHIVED


def test_a_moved_ledger_does_not_arrive_beside_another_on_its_rows(
    played: World, tmp_path: Path, leave: Callable[[], User]
) -> None:
    test = upload(b"id,x\nr0,1\n", "test.csv")
    organize.add_file(played.round, test, role=FileRole.TEST, by=played.organizer)
    archive = moved(played, tmp_path)
    host = leave()
    other = make_competition("other", host)
    organize.add_file(other.current_round, test, role=FileRole.TEST, by=host)
    assert "The competition “Other” answers on these rows" in refused(archive, host)
    set_round(other, finals_started_at=timezone.now())
    assert import_archive(archive, by=host).slug == "digits"


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


def test_only_owners_export_archives_and_move(played: World) -> None:
    editor = make_user("editor", is_organizer=True)
    for act in (
        lambda: export_archive(played.digits, by=editor),
        lambda: move(played.digits, "0" * 64, by=editor),
    ):
        with pytest.raises(Refused) as caught:
            act()
        assert caught.value.code == "not_allowed"
