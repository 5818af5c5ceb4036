"""Drafts made of bundles: all of it or nothing, and what leaves in an export."""

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.utils import timezone

from bundles.templates import TEMPLATES
from leaderboard import organize
from leaderboard.errors import Refused
from leaderboard.models import Competition, Event, EventKind, FileRole, Holdout, User
from leaderboard.organize import opening
from leaderboard.organize.bundles import (
    clone,
    export,
    import_bundle,
    import_template,
    plan_bundle,
)
from leaderboard.organize.opening import Check, checklist
from leaderboard.pipeline.finalize import close_early
from tests.bundles.files import YAML, archive, bundle
from tests.bundles.test_others import FILES as CODABENCH
from tests.bundles.test_others import KAGGLE
from tests.cast import (
    World,
    add_column,
    make_checked,
    make_user,
    predictions,
    set_round,
    solution,
    upload,
)


def changed(before: bytes, after: bytes) -> io.BytesIO:
    """Return the small bundle with another holdfast.yaml."""
    assert before in YAML
    return archive(bundle(yaml=YAML.replace(before, after, 1)))


def stored() -> set[str]:
    """Return the names of all stored files."""
    found = set[str]()
    for folder in ("files", "vault"):
        if default_storage.exists(folder):
            found |= {f"{folder}/{name}" for name in default_storage.listdir(folder)[1]}
    return found


def exported(competition: Competition, by: User) -> io.BytesIO:
    """Return what an export writes."""
    with export(competition, by=by) as file:
        return io.BytesIO(file.read())


def refused(file: io.BytesIO, by: User, **options: Any) -> str:
    """Return why a bundle is refused; nothing may be left of it."""
    before = (stored(), Competition.objects.count(), Event.objects.count())
    with pytest.raises(Refused) as caught:
        import_bundle(file, by=by, **options)
    assert (stored(), Competition.objects.count(), Event.objects.count()) == before
    return "\n".join(caught.value.fields.values()) or str(caught.value)


def test_a_bundle_with_its_solution_makes_a_draft_that_can_open(world: World) -> None:
    made = import_bundle(archive(bundle()), by=world.organizer)
    round = made.current_round
    assert (made.slug, made.title, made.rules) == ("kinds", "Kinds", "Play fair.")
    assert round.daily_limit == 5
    assert {file.name: file.role for file in round.files.all()} == {
        "sample_submission.csv": FileRole.SAMPLE,
        "train.csv": FileRole.TRAIN,
    }
    assert made.opened_by_organizer_at is None
    organize.open_competition(made, by=world.organizer)


def test_what_was_imported_is_told_to_organizers(world: World) -> None:
    made = import_bundle(archive(bundle()), by=world.organizer)
    event = Event.objects.get(competition=made, kind=EventKind.IMPORTED)
    assert (event.actor, event.audience) == (world.organizer, "organizers")
    assert event.data["source"] == "Holdfast"


def test_an_export_is_imported_as_the_same_competition(world: World) -> None:
    digits = add_column(make_checked("checked", world.organizer), world.organizer)
    made = import_bundle(exported(digits, world.organizer), by=world.organizer, slug="again")
    for name in ("title", "tagline", "description", "rules", "team_size"):
        assert getattr(made, name) == getattr(digits, name)
    ours, theirs = made.current_round, digits.current_round
    assert ours.schema == theirs.schema
    assert ours.closes_at == (theirs.closes_at or timezone.now()).replace(microsecond=0)
    for name in ("daily_limit", "total_limit", "question_limit", "is_hidden"):
        assert getattr(ours, name) == getattr(theirs, name)
    scoring = ("metric", "metric_parameters", "mechanism", "mechanism_parameters")
    for made, board in zip(
        ours.boards.values(*scoring), theirs.boards.values(*scoring), strict=True
    ):
        written = made["mechanism_parameters"] | board.pop("mechanism_parameters")
        assert made == board | {"mechanism_parameters": written}
    assert list(ours.files.values("name", "role", "sha256")) == list(
        theirs.files.values("name", "role", "sha256")
    )


def test_an_export_holds_no_solution(world: World) -> None:
    with zipfile.ZipFile(exported(world.digits, world.organizer)) as opened:
        assert sorted(opened.namelist()) == [
            "data/sample_submission.csv",
            "data/train.csv",
            "holdfast.yaml",
            "overview.md",
            "rules.md",
        ]
        assert b"solution:" not in opened.read("holdfast.yaml")


def test_what_a_plan_says_makes_nothing(world: World) -> None:
    before = Competition.objects.count(), stored()
    plan = plan_bundle(archive(CODABENCH), by=world.organizer)
    assert (plan.slug, plan.title, len(plan.rounds)) == ("iris", "Iris", 3)
    assert any("never run" in each for each in plan.lost)
    assert (Competition.objects.count(), stored()) == before


def test_a_bundle_of_codabench_makes_a_draft_of_its_phases(world: World) -> None:
    made = import_bundle(archive(CODABENCH), by=world.organizer)
    assert [round.title for round in made.rounds.all()] == ["Development", "Again", "Final"]
    first, again, final = made.rounds.all()
    assert again.continues == first
    assert again.ledger == first.ledger
    assert final.continues is None
    assert Holdout.objects.active().filter(ledger__competition=made).count() == 2
    assert list(first.boards.values_list("metric", flat=True)) == ["accuracy", "f1_macro"]


def test_numbers_of_codabench_make_a_draft_by_several_metrics(world: World) -> None:
    labels = b"id,minutes\n" + b"".join(b"f%d,%.2f\n" % (row, row / 7) for row in range(60))
    text = CODABENCH["competition.yaml"].replace(b"key: accuracy", b"key: test_MAE")
    text = text.replace(b"Macro F1 score", b"R2 (test)").replace(b"Fancy score", b"RMSE (test)")
    files = {"competition.yaml": text, "reference/labels.csv": labels}
    files["final.zip"] = archive({"truth.csv": labels.replace(b"f", b"g")}).getvalue()
    made = import_bundle(archive(CODABENCH | files), by=world.organizer)
    first = made.rounds.get(number=1)
    assert list(first.boards.values_list("metric", flat=True)) == ["rmse", "mae", "r2"]
    assert first.active_holdout is not None
    assert [check.name for check in organize.checklist(made) if not check.passed] == []


def test_kaggles_files_make_a_draft(world: World) -> None:
    lines = [f"{row},{'cat' if row % 2 else 'dog'}" for row in range(40)]
    files = KAGGLE | {
        "sample_submission.csv": ("id,label\n" + "\n".join(lines)).encode(),
        "solution.csv": (
            "id,label,Usage\n" + "\n".join(f"{line},Private" for line in lines)
        ).encode(),
    }
    made = import_bundle(archive(files), by=world.organizer, slug="pets")
    assert made.slug == "pets"
    assert made.current_round.active_holdout is not None


@pytest.mark.parametrize("name", [each.name for each in TEMPLATES])
def test_a_template_makes_a_draft_without_data(world: World, name: str) -> None:
    made = import_template(name, by=world.organizer)
    missing = {check.name for check in organize.checklist(made) if not check.passed}
    assert missing == {"sample", "solution", "mechanism"}


def test_times_that_have_passed_are_moved_by_whole_days(world: World) -> None:
    past = YAML.replace(b"2027-01-01", b"2020-01-01").replace(b"2099-01-01T", b"2020-01-31T")
    made = import_bundle(archive(bundle(yaml=past)), by=world.organizer)
    round = made.current_round
    assert round.closes_at is not None
    assert round.closes_at - round.opens_at == timedelta(days=30, hours=12)
    assert round.opens_at > timezone.now()


def test_a_short_name_that_is_taken_gets_a_number(world: World) -> None:
    import_bundle(archive(bundle()), by=world.organizer)
    again = import_bundle(archive(bundle()), by=world.organizer)
    assert again.slug == "kinds-2"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (b"metric: accuracy", b"metric: acuracy", "Round 1: metric: There is no metric called"),
        (b"metric: accuracy", b"metric: mae", "Round 1: "),
        (b"mechanism: ladder", b"mechanism: stairs", "mechanism"),
        (b"{steps: 20}", b"{stairs: 20}", "There is no parameter with this name"),
        (b"[0, 1, 2, 3]", b"[0, 1]", "solution.csv: "),
        (b"version: 1", b"version: 7", "Version 7"),
        (b"data/train.csv", b"../train.csv", "leaves the bundle"),
        (b"closes_at: 2099", b"closes_at: 2026", "It must close after it opens"),
    ],
)
def test_a_bundle_that_is_wrong_leaves_nothing(
    world: World, before: bytes, after: bytes, said: str
) -> None:
    assert said in refused(changed(before, after), world.organizer)


def test_labels_among_the_public_files_are_refused_unless_one_is_sure(world: World) -> None:
    files = bundle() | {"data/train.csv": b"id,label,Usage\nr0,0,Public\n"}
    assert "looks like the solution" in refused(archive(files), world.organizer)
    assert import_bundle(archive(files), by=world.organizer, sure=True).slug == "kinds"


def test_a_short_name_of_someone_else_is_refused(world: World) -> None:
    assert "already exists" in refused(archive(bundle()), world.organizer, slug="digits")


def test_a_bundle_is_as_large_as_the_site_takes(world: World, settings: Any) -> None:
    settings.BUNDLE_MAX_BYTES = 1000
    files = bundle() | {"data/train.csv": b"x" * 2000}
    assert "a bundle has at most" in refused(archive(files), world.organizer)
    settings.BUNDLE_MAX_FILES = 2
    assert "files; a bundle has at most 2" in refused(archive(bundle()), world.organizer)


def test_who_may_not_create_competitions_imports_none(world: World) -> None:
    for act in (
        lambda: import_bundle(archive(bundle()), by=world.alice),
        lambda: import_template("binary", by=world.alice),
        lambda: plan_bundle(archive(bundle()), by=world.alice),
    ):
        with pytest.raises(Refused) as caught:
            act()
        assert caught.value.code == "not_allowed"


def test_a_clone_lasts_as_long_as_was_announced_of_one_closed_early(world: World) -> None:
    announced = world.digits.current_round.closes_at
    assert announced is not None
    close_early(world.digits.current_round, by=world.organizer)
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    closes_at = made.current_round.closes_at
    assert closes_at is not None
    assert closes_at >= announced


def test_a_clone_is_a_draft_with_a_ledger_to_come(world: World) -> None:
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    assert made.opened_by_organizer_at is None
    assert made.current_round.ledger is None
    assert made.rules == world.digits.rules
    kinds = Event.objects.filter(kind=EventKind.CLONED).values_list("competition__slug", flat=True)
    assert sorted(kinds) == ["digits", "digits-2"]


def test_a_clone_is_not_sealed_while_the_other_answers_on_the_same_rows(world: World) -> None:
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    with pytest.raises(Refused, match="The competition “Digits” answers on these rows"):
        organize.install_solution(made.current_round, upload(solution()), by=world.organizer)
    set_round(world.digits, finals_started_at=timezone.now())
    sealed = organize.install_solution(made.current_round, upload(solution()), by=world.organizer)
    ours = world.round.active_holdout
    assert ours is not None
    assert sealed.secret_commitment != ours.secret_commitment
    assert sealed.ledger.uid != ours.ledger.uid
    organize.open_competition(made, by=world.organizer)


def test_a_clone_that_was_sealed_before_is_not_opened_while_the_other_answers(
    world: World,
) -> None:
    organize.return_to_draft(world.digits, by=world.organizer)
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    organize.install_solution(made.current_round, upload(solution()), by=world.organizer)
    organize.open_competition(Competition.objects.get(slug="digits"), by=world.organizer)
    with pytest.raises(Refused, match="answers on these rows"):
        organize.open_competition(made, by=world.organizer)


def test_of_two_clones_that_open_at_once_one_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    organize.return_to_draft(world.digits, by=world.organizer)
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    organize.install_solution(made.current_round, upload(solution()), by=world.organizer)

    def open_the_other_first(competition: Competition) -> list[Check]:
        green = checklist(competition)
        monkeypatch.setattr(opening, "checklist", checklist)
        organize.open_competition(Competition.objects.get(slug="digits"), by=world.organizer)
        return green

    monkeypatch.setattr(opening, "checklist", open_the_other_first)
    with pytest.raises(Refused, match="answers on these rows"):
        organize.open_competition(made, by=world.organizer)
    assert Competition.objects.get(slug="digits-2").opened_by_organizer_at is None


def test_a_clone_of_other_rows_is_sealed_at_once(world: World) -> None:
    made = clone(world.digits, slug="digits-2", by=world.organizer)
    round = made.current_round
    organize.remove_file(round.files.get(role=FileRole.SAMPLE), by=world.organizer)
    organize.add_file(
        round, upload(predictions(rows=39), "new.csv"), role=FileRole.SAMPLE, by=world.organizer
    )
    organize.install_solution(round, upload(solution(rows=39)), by=world.organizer)


def test_the_same_test_data_are_the_same_rows_without_a_clone(world: World) -> None:
    test = upload(b"id,x\nr0,1\n", "test.csv")
    organize.add_file(world.round, test, role=FileRole.TEST, by=world.organizer)
    yaml = YAML.replace(
        b"{path: data/train.csv, role: train}", b"{path: data/train.csv, role: test}"
    )
    sample = {"data/train.csv": b"id,x\nr0,1\n"}
    assert "answers on these rows" in refused(archive(bundle(yaml=yaml) | sample), world.organizer)


def test_a_later_round_on_the_same_rows_is_told_where_no_solution_is_there(world: World) -> None:
    organize.add_round(
        world.digits,
        by=world.organizer,
        continues=True,
        opens_at=timezone.now() + timedelta(days=40),
    )
    plan = plan_bundle(exported(world.digits, world.organizer), by=world.organizer)
    assert len(plan.rounds) == 1
    assert any("Round 2 goes on with the rows" in each for each in plan.lost)


def test_an_export_of_a_hidden_board_says_nothing_of_teams(world: World) -> None:
    world.score(world.join(world.alice, name="Secretive"))
    with zipfile.ZipFile(exported(world.digits, world.organizer)) as opened:
        told = b"".join(opened.read(name) for name in opened.namelist())
    assert b"Secretive" not in told
    assert b"alice" not in told


def test_only_owners_and_editors_export_and_clone(world: World) -> None:
    stranger = make_user("stranger", is_organizer=True)
    for act in (
        lambda: export(world.digits, by=stranger),
        lambda: clone(world.digits, slug="mine", by=stranger),
    ):
        with pytest.raises(Refused) as caught:
            act()
        assert caught.value.code == "not_allowed"
    assert settings.VAR_DIR.exists()
