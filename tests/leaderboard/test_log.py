"""The log of a competition: what is written when, what is copied and signed, what is refused."""

import pytest
from django.conf import settings

from leaderboard import organize
from leaderboard.log import heads, journal, keys
from leaderboard.log.entries import frontier_of, hash_of
from leaderboard.log.receipts import receipt_of
from leaderboard.log.tiles import nodes
from leaderboard.models import Competition, EventCount, LogEntry, LogHead, LogNode, Release
from leaderboard.organize.sanctions import sanction_team
from leaderboard.organize.settings import change_settings
from leaderboard.participate import membership, selection
from leaderboard.participate.accounts import delete
from leaderboard.tasks import sweep
from scoring.transparency import leaves, merkle, notes
from scoring.transparency.receipts import Receipt
from scoring.verification.differences import Differs
from tests.cast import World, predictions

pytestmark = pytest.mark.django_db


def kinds(competition: Competition) -> list[str]:
    """Return what the log has, in order."""
    return list(competition.log_entries.values_list("kind", flat=True))


def entry(competition: Competition, kind: str) -> LogEntry:
    """Return the last entry of a kind."""
    return competition.log_entries.filter(kind=kind).latest("index")


def test_the_log_tells_what_decides_places(world: World) -> None:
    team = world.join(world.alice)
    sent = world.score(team, predictions(range(10, 14)))
    world.score(team, b"id,label\nr0,1\n")
    change_settings(world.digits, world.organizer, daily_limit=7, rules="Play fairer.")
    selection.select(team=team, user=world.alice, numbers=[1])
    sanction_team(team, "disqualified", "It copied.", by=world.organizer)
    assert kinds(world.digits) == [
        *("rules", "deadline", "limits", "scoring", "sealed"),
        *("team", "accepted", "released", "accepted", "rejected"),
        *("limits", "rules", "selected", "disqualified"),
    ]
    answer = Release.objects.get()
    released = entry(world.digits, "released").document
    assert released["entries"] == [
        {"board": answer.board.uid, "number": answer.number, "hash": answer.hash}
    ]
    accepted = world.digits.log_entries.get(kind="accepted", submission=sent)
    assert accepted.document["at"] == sent.created_at.isoformat()
    assert accepted.opening is not None
    salt = bytes.fromhex(accepted.opening["salt"])
    assert accepted.document["file"] == leaves.commit(salt, sent.sha256)
    count = EventCount.objects.get(competition=world.digits)
    assert frontier_of(count).size == len(kinds(world.digits))


def test_no_name_and_no_hash_of_a_file_stands_in_the_log(world: World) -> None:
    sent = world.submit(world.join(world.alice, "Zebras"))
    text = str(list(world.digits.log_entries.values_list("document", flat=True)))
    assert not {"Zebras", sent.sha256, "alice", world.alice.uid} & set(text.split("'"))


def test_a_head_is_signed_over_what_was_copied(world: World) -> None:
    world.submit(world.join(world.alice))
    sweep()
    head = heads.newest(world.digits)
    assert head is not None
    checkpoint, _ = notes.open_checkpoint(head.note, notes.Verifier.parse(head.verifier))
    copied = list(journal.read(world.digits.uid))
    assert (checkpoint.origin, checkpoint.size) == (keys.origin(world.digits), len(copied))
    leaf_hashes = [hash_of(line.document) for line in copied]
    assert checkpoint.root == merkle.root_at(len(copied), merkle.nodes_of(leaf_hashes))


def test_heads_follow_on_each_other_by_proofs_from_tiles(world: World) -> None:
    first = heads.sign(world.digits)
    team = world.join(world.alice)
    for name in ("one", "two") * 130:
        membership.rename_team(team=team, user=world.alice, name=name)
    second = heads.sign(world.digits)
    assert first is not None
    assert second is not None
    assert LogNode.objects.get().level == 1
    node = nodes(world.digits, second.size)
    roots = [merkle.Frontier.from_json(each.frontier).root() for each in (first, second)]
    proof = merkle.consistency_proof(first.size, second.size, node)
    merkle.check_consistency(first.size, roots[0], second.size, roots[1], proof)
    asked = LogEntry.objects.get(index=100)
    proof = merkle.inclusion_proof(100, second.size, node)
    merkle.check_inclusion(hash_of(asked.document), 100, second.size, proof, roots[1])


def test_no_head_is_signed_over_an_entry_that_was_changed(world: World) -> None:
    team = world.join(world.alice)
    heads.sign(world.digits)
    world.submit(team)
    changed = entry(world.digits, "accepted")
    changed.document["at"] = "2026-01-01T00:00:00+00:00"
    changed.save()
    with pytest.raises(heads.LogDiffers, match=f"Entry {changed.index} is not what was written"):
        heads.sign(world.digits)


def test_no_head_is_signed_while_the_copy_knows_more(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.submit(world.join(world.alice))
    heads.sign(world.digits)
    last = world.digits.log_entries.latest("index")
    last.delete()
    count = EventCount.objects.get(competition=world.digits)
    hashes = merkle.Frontier()
    for each in world.digits.log_entries.order_by("index"):
        hashes = hashes.append(bytes.fromhex(each.hash))
    count.log_size, count.log_hashes = hashes.size, [each.hex() for each in hashes.hashes]
    count.save()
    LogHead.objects.all().delete()
    sweep()
    assert "as after the restore of a backup" in caplog.text
    assert heads.newest(world.digits) is None


def test_a_receipt_is_the_same_at_any_time_and_stands_for_its_entry(world: World) -> None:
    sent = world.submit(world.join(world.alice))
    text = receipt_of(sent)
    assert text is not None
    verifier = keys.receipt_key(world.digits).verifier
    receipt = Receipt.open(text, verifier)
    written = entry(world.digits, "accepted")
    receipt.check_entry(written.document, written.index)
    assert (receipt.sha256, receipt.submission) == (sent.sha256, 1)
    assert receipt_of(sent) == text


def test_a_name_goes_with_its_account_from_database_and_copy(world: World) -> None:
    world.join(world.alice, "Zebras")
    sweep()
    assert "Zebras" in journal.file_of(world.digits.uid).read_text()
    delete(world.alice)
    sweep()
    assert "Zebras" not in journal.file_of(world.digits.uid).read_text()
    openings = world.digits.log_entries.filter(kind="team").values_list("opening", flat=True)
    assert "Zebras" not in str(list(openings))
    assert [each.index for each in journal.read(world.digits.uid)] == list(
        world.digits.log_entries.values_list("index", flat=True)
    )


def test_a_competition_of_an_earlier_version_begins_its_log_with_what_it_has(world: World) -> None:
    team = world.join(world.alice)
    world.score(team)
    before = kinds(world.digits)
    LogEntry.objects.all().delete()
    EventCount.objects.update(log_size=0, log_hashes=[])
    sweep()
    assert sorted(kinds(world.digits)) == sorted(before)
    assert heads.newest(world.digits) is not None


def test_a_draft_has_no_log(world: World) -> None:
    draft = organize.create_competition(
        slug="draft", organizer=world.organizer, opens_at="2026-01-01T00:00Z"
    )
    sweep()
    assert kinds(draft) == []


def test_a_witness_that_is_known_signs_the_head_that_it_saw(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    witness = notes.Key("witness.example.org", bytes(32), notes.COSIGNATURE)
    monkeypatch.setattr(settings, "WITNESSES", [str(witness.verifier)])
    head = heads.sign(world.digits)
    assert head is not None
    note = notes.Note.parse(head.note)
    stranger = notes.Key("stranger.example.org", bytes(31) + b"1", notes.COSIGNATURE)
    with pytest.raises(Differs):
        heads.cosign(world.digits, str(note.and_signed(stranger.sign(note.text, at=1))))
    heads.cosign(world.digits, str(note.and_signed(witness.sign(note.text, at=1))))
    head.refresh_from_db()
    assert head.witnesses == ["witness.example.org"]
    notes.Note.parse(head.note).check(witness.verifier)
