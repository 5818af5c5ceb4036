"""A competition is copied to another installation, to be read and verified there."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db.models import Model

from leaderboard import organize, queries, tasks
from leaderboard.access import ever_organized, marks_of
from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.ledger.archives import TABLES
from leaderboard.log import heads
from leaderboard.models import (
    Announcement,
    Board,
    Competition,
    Delivery,
    Holdout,
    Pause,
    Role,
    Round,
    Sanction,
    SanctionKind,
    Standing,
    User,
)
from leaderboard.notify import outbox
from leaderboard.operate import rotation
from leaderboard.operate.archives import export_archive, import_archive
from leaderboard.operate.doctor import ledgers as doctor_ledgers
from leaderboard.operate.doctor import vault as doctor_vault
from leaderboard.operate.verification import verify_ledger
from leaderboard.organize import announcements, people, sanctions
from leaderboard.organize.moves import move
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import intake, publish
from scoring.verification.run import verify
from tests import ending
from tests.cast import (
    World,
    ledger_of,
    make_user,
    predictions,
    solution,
    upload,
)
from tests.leaderboard.bundles.installations import (
    exported,
    forged,
    forget_all,
    lines,
    refused,
    rewritten,
)


def test_a_copy_has_the_same_ledger_and_verifies(
    played: World, leave: Callable[[], User], capsys: pytest.CaptureFixture[str]
) -> None:
    Round.objects.update(code_before_practice=1.5)
    Board.objects.update(announced=0.25)
    before = lines(played.digits)
    logged = list(played.digits.log_entries.values_list("index", "hash"))
    places = list(Standing.objects.order_by("team__uid").values_list("team__uid", "loss"))
    file = exported(played.digits, played.organizer)
    copy = import_archive(file, by=leave())
    assert lines(copy) == before
    assert copy.current_round.code_before_practice == 1.5
    assert copy.current_round.board.announced == 0.25
    assert places == list(Standing.objects.order_by("team__uid").values_list("team__uid", "loss"))
    call_command("verify", copy.slug)
    assert "Verified." in capsys.readouterr().out
    assert verify(queries.lines_of(ledger_of(copy))).difference is None
    assert list(copy.log_entries.values_list("index", "hash")) == logged != []
    assert heads.sign(copy) is not None


def test_every_table_of_a_competition_comes_along_or_stays_on_purpose() -> None:
    stays = {
        # People of this installation, and what they were promised by mail
        *("Organizer", "Invitation", "Invitee", "Preference", "Competition_invited", "MailDomain"),
        *("Notice", "MergeRequest"),
        # What this installation sends, counts and looks for by itself
        *("Webhook", "Delivery", "OutboxCursor", "EventCount", "Sketch", "Handover", "Loss"),
        # Signed with its own key, and computed from the log's entries
        *("LogHead", "LogNode"),
        # What tokens of this installation are for
        "TokenGrant",
        # What is for a draft alone
        *("Trial", "TrialLedger", "QuickSetup"),
    }
    named = {model.__name__ for model in TABLES}
    every = list(apps.get_app_config("leaderboard").get_models(include_auto_created=True))
    reached: set[type[Model]] = {Competition}
    before = 0
    while len(reached) > before:
        before = len(reached)
        reached |= {
            model
            for model in every
            if any(field.related_model in reached for field in model._meta.concrete_fields)
        }
    assert {model.__name__ for model in reached} - named == stays


def test_sanctions_come_along(played: World, leave: Callable[[], User]) -> None:
    sanctions.sanction_team(
        played.digits.teams.get(name="team bob"),
        SanctionKind.DISQUALIFIED,
        "Two accounts.",
        by=played.organizer,
    )
    copy = import_archive(exported(played.digits, played.organizer), by=leave())
    assert Sanction.objects.get(team__competition=copy).reason == "Two accounts."
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
    EmailAddress.objects.create(user=bob, email="BOB@example.org", verified=True)
    copy = import_archive(file, by=host, with_people=True)
    captains = {team.name: team.captain for team in copy.teams.all()}
    assert captains["team bob"] == bob
    assert captains["team alice"].username == "alice"
    assert not captains["team alice"].has_usable_password()


def test_nobody_takes_a_place_in_a_team_by_an_address_that_is_not_confirmed(
    played: World, leave: Callable[[], User]
) -> None:
    file = exported(played.digits, played.organizer, with_people=True)
    host = leave()
    thief = make_user("thief")
    User.objects.filter(pk=thief.pk).update(email="bob@example.org")
    copy = import_archive(file, by=host, with_people=True)
    captain = copy.teams.get(name="team bob").captain
    assert (captain == thief, captain.email, captain.is_active) == (False, "", False)


def test_names_and_addresses_are_an_operators_to_believe(
    played: World, leave: Callable[[], User]
) -> None:
    """Anybody else could put people into teams, and take names and addresses before others do."""
    file = exported(played.digits, played.organizer, with_people=True)
    host = leave()
    bob = make_user("bob")
    EmailAddress.objects.create(user=bob, email="bob@example.org", verified=True)
    captains = [team.captain for team in import_archive(file, by=host).teams.all()]
    assert bob not in captains
    assert {(each.username[:9], each.email, each.is_active) for each in captains} == {
        ("archived-", "", False)
    }


def test_who_saw_hidden_rows_there_joins_no_team_here(
    played: World, leave: Callable[[], User]
) -> None:
    editor = make_user("eve", is_organizer=True)
    people.add_organizer(played.digits, editor, Role.EDITOR, by=played.organizer)
    people.remove_organizer(played.digits, editor, by=played.organizer)
    address = editor.email
    file = exported(played.digits, played.organizer)
    assert address.encode() not in file.getvalue()
    copy = import_archive(file, by=leave())
    again, other = make_user("later"), make_user("other")
    User.objects.filter(pk=again.pk).update(email=address.upper())
    again.refresh_from_db()
    assert ever_organized(again, copy)
    assert not ever_organized(other, copy)
    with zipfile.ZipFile(exported(copy, copy.organizers.get())) as further:
        kept = further.read("tables/roles.jsonl").decode()
    assert marks_of(again, copy)[0] in kept


def test_who_takes_part_imports_no_archive_that_names_them(
    played: World, leave: Callable[[], User]
) -> None:
    file = exported(played.digits, played.organizer, with_people=True)
    host = leave()
    EmailAddress.objects.create(user=host, email="alice@example.org", verified=True)
    assert "is or was in a team" in refused(file, host)


def test_names_that_no_account_can_have_are_not_made(
    played: World, leave: Callable[[], User]
) -> None:
    file = exported(played.digits, played.organizer, with_people=True)
    people = iter([("admin", "x"), ("a b", "alice@example.org")])

    def rename(row: dict[str, Any]) -> None:
        row["username"], row["email"] = next(people)

    copy = import_archive(forged(file, "people", rename), by=leave(), with_people=True)
    captains = [team.captain for team in copy.teams.order_by("name")]
    assert all(captain.username.startswith("archived-") for captain in captains)
    assert [captain.email for captain in captains] == ["", "alice@example.org"]


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
        ("team", lambda row: row.update(uid="../../team"), "an id of hexadecimal digits"),
        ("holdout", lambda row: row.update(solution_commitment="../x"), "hexadecimal digits"),
        ("submission", lambda row: row.update(status="perfect"), "“perfect” is not known here"),
        ("event", lambda row: row.update(kind="abducted"), "“abducted” is not known here"),
        ("event", lambda row: row.update(subjects=["team"]), "subjects: this is no value of it"),
        ("event", lambda row: row.update(data={"before": 1}), "an event can't be read"),
        ("ledger", lambda row: row.update(entries=0), "not those that the manifest names"),
    ],
)
def test_rows_that_were_forged_are_refused(
    played: World, leave: Callable[[], User], table: str, change: Any, told: str
) -> None:
    file = forged(exported(played.digits, played.organizer), table, change)
    assert told in refused(file, leave())


@pytest.mark.parametrize("uid", ["../../outside", "/etc/passwd", "a\0b", "."])
def test_a_ledger_whose_id_names_a_file_elsewhere_is_refused(
    played: World, leave: Callable[[], User], uid: str
) -> None:
    file = exported(played.digits, played.organizer)

    def rename(name: str, content: bytes) -> bytes:
        if name != "archive.json":
            return content
        document = json.loads(content)
        document["ledgers"] = dict.fromkeys([uid], *document["ledgers"].values())
        return json.dumps(document).encode()

    host = leave()
    assert "archive.json: an id of hexadecimal digits" in refused(rewritten(file, rename), host)


def test_a_short_name_that_is_taken_is_refused(played: World, leave: Callable[[], User]) -> None:
    file = exported(played.digits, played.organizer)
    host = leave()
    import_archive(file, by=host)
    assert "already" in refused(file, host)


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
