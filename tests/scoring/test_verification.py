"""Verification: what is true passes; whatever was changed is found, and named where it stands."""

import hashlib
import io
import json
import math
import zipfile
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.chain import document_hash
from scoring.verification import notes
from scoring.verification.differences import Difference, Differs
from scoring.verification.ledgers import (
    ENTRY_FIELDS,
    Header,
    bounded_lines,
    check_since,
    entry_line,
)
from scoring.verification.publications import Lost, Salted
from scoring.verification.run import verify
from tests.scoring.ledgers import (
    BOARD,
    BOARDS,
    CLAIMING,
    PUBLIC,
    ROWS,
    File,
    Played,
    digest_of,
    line,
    published,
    rewritten,
)

KINDS = {
    "ladder": {"improved", "not_improved"},
    "guard": {"confirmed", "corrected", "exhausted"},
    "thresholdout": {"confirmed", "corrected", "exhausted"},
    "sparse_validate": {"pass", "fail", "exhausted"},
}
GAMES = ("ladder", "guard", "thresholdout", "claims", "sparse_validate")

files = st.builds(
    File,
    team=st.sampled_from(["1", "2", "3"]),
    wrong=st.lists(st.integers(0, ROWS - 1), max_size=60, unique=True).map(tuple),
    claimed=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)


def game(name: str) -> Played:
    """An empty competition."""
    if name == "claims":
        return Played("thresholdout", dict(CLAIMING))
    return Played(name)


@cache
def played(name: str) -> Played:
    """A competition in which everything happened that can: don't change it."""
    board = game(name)
    for wrong in (80, 60, 70, 70, 10, 5, 5, 0, 80):
        for team in (1, 2):
            board.take(File(str(team), tuple(range(ROWS - wrong, ROWS)), claimed=0.25))
    for wrong in (0, 10, 10):
        board.take(File("3", tuple(range(ROWS - wrong, ROWS))))
    return board


def found(
    board: Played, lines: list[bytes] | None = None, **publications: Any
) -> Difference | None:
    """The first difference of a ledger with its publication and all files."""
    publication = publications.get("publication", board.publication())
    report = verify(
        lines or board.lines(), {1: publication} if publication else {}, recall=board.recall
    )
    return report.difference


@pytest.mark.parametrize("name", GAMES)
def test_a_game_has_every_kind_of_answer_and_repeats(name: str) -> None:
    entries = played(name).entries
    kinds = KINDS["thresholdout" if name == "claims" else name]
    assert {entry["kind"] for entry in entries} == kinds
    assert any(entry["repeat"] for entry in entries)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=15)
@given(sent=st.lists(files, max_size=8))
def test_what_a_mechanism_said_is_verified_with_and_without_a_publication(
    name: str, sent: list[File]
) -> None:
    board = game(name)
    for file in sent:
        board.take(file)
    without = verify(board.lines())
    assert (without.difference, without.entries, without.recomputed) == (None, len(sent), 0)
    report = verify(board.lines(), {1: board.publication()}, recall=board.recall)
    assert report.difference is None
    assert (report.entries, report.recomputed, report.measured) == (len(sent),) * 3
    assert report.head_hash == (board.entries[-1]["hash"] if sent else "")


@pytest.mark.parametrize("name", GAMES)
def test_weighted_rows_are_verified_in_their_own_unit(name: str) -> None:
    board = game(name)
    weighted = Played(
        board.mechanism, board.parameters, np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0)
    )
    for wrong in (40, 20, 0):
        weighted.take(File("1", tuple(range(wrong)), claimed=0.25))
    assert verify(weighted.lines()).difference is None
    assert found(weighted) is None


# Two groups of all Public rows; Private ones in groups of 1 to 20 rows.
GROUPS = np.repeat(np.arange(47), [10, 10, 20, 10, 8, *[1] * 42])


@pytest.mark.parametrize("name", GAMES)
def test_rows_in_groups_are_verified_by_their_design(name: str) -> None:
    board = game(name)
    grouped = Played(board.mechanism, board.parameters, groups=GROUPS)
    for wrong in (40, 20, 0):
        grouped.take(File("1", tuple(range(wrong)), claimed=0.25))
    assert verify(grouped.lines()).difference is None
    assert found(grouped) is None


def test_a_design_that_is_not_the_solution_s_is_found() -> None:
    board = Played(groups=GROUPS)
    board.take(File("1", ()))
    header = json.loads(board.lines()[0])
    header["scoring"]["holdout"]["designs"]["final"] = {"bound": "kl"}
    header["parameters_hash"] = document_hash(header["scoring"])
    difference = found(board, [json.dumps(header).encode(), *board.lines()[1:]])
    assert difference is not None
    assert difference.field == "designs"


@pytest.mark.parametrize("design", [{}, [], {"bound": "both"}, {"bound_rows": 0}, {"more": 1}, 5])
def test_a_design_that_no_rows_have_is_named(design: Any) -> None:
    board = Played(groups=GROUPS)
    private = board.scoring["designs"]["private"]
    header = json.loads(board.lines()[0])
    changed = private | design if design and isinstance(design, dict) else design
    header["scoring"]["holdout"]["designs"] = {"private": changed}
    header["parameters_hash"] = document_hash(header["scoring"])
    assert found(board, [json.dumps(header).encode()]) is not None


@pytest.mark.parametrize("weighted", [True, False])
def test_a_metric_that_is_no_mean_is_verified(weighted: bool) -> None:
    weights = np.where(np.arange(ROWS) % 3 == 0, 2.0, 1.0) if weighted else None
    board = Played(metric="balanced_accuracy", weights=weights)
    for wrong in (40, 20, 0):
        board.take(File("1", tuple(range(wrong))))
    assert verify(board.lines()).difference is None
    assert found(board) is None
    assert found(board) is None


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if value is None:
        return 1
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value / 2 + 0.01
    return value + 1 if isinstance(value, int) else digest_of(value)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=40)
@given(data=st.data())
def test_a_changed_field_is_found_at_its_entry(name: str, data: st.DataObject) -> None:
    board = played(name)
    place = data.draw(st.integers(0, len(board.entries) - 1))
    field = data.draw(st.sampled_from(sorted(ENTRY_FIELDS)))
    entries = list(board.entries)
    entries[place] = {**entries[place], field: changed(entries[place][field])}
    difference = found(board, board.lines(entries), publication=None)
    assert difference is not None
    assert difference.number == place + 1


UNSEEN = {"created_at", "hash", "previous_hash"}
AS_SAID = ENTRY_FIELDS - UNSEEN - {"board", "team", "submission", "predictions_tag"}


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=40)
@given(data=st.data())
def test_a_rewritten_ledger_is_found_where_it_was_changed(name: str, data: st.DataObject) -> None:
    """All hashes fit again; only computing the answers again can tell."""
    board = played(name)
    place = data.draw(st.integers(0, len(board.entries) - 1))
    field = data.draw(st.sampled_from(sorted(AS_SAID | {"board", "team", "predictions_tag"})))
    entries = list(board.entries)
    entries[place] = {**entries[place], field: changed(entries[place][field])}
    difference = found(board, board.lines(rewritten(entries)))
    assert difference is not None
    assert difference.number == place + 1


@pytest.mark.parametrize(
    "field", sorted(AS_SAID - {"number", "level", "reference_level", "kind", "steps"})
)
@pytest.mark.parametrize("name", GAMES)
def test_what_follows_from_the_answers_is_checked_before_any_publication(
    name: str, field: str
) -> None:
    board = played(name)
    entries = list(board.entries)
    entries[3] = {**entries[3], field: changed(entries[3][field])}
    report = verify(board.lines(rewritten(entries)))
    assert report.difference is not None
    assert report.difference.number == 4
    assert report.entries == 3


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=20)
@given(data=st.data())
def test_an_entry_that_is_left_out_is_found(name: str, data: st.DataObject) -> None:
    board = played(name)
    place = data.draw(st.integers(0, len(board.entries) - 2))
    entries = [entry for entry in board.entries if entry["number"] != place + 1]
    difference = found(board, board.lines(entries), publication=None)
    assert difference is not None
    assert difference.number == place + 1


def test_the_last_entry_left_out_is_missed_by_the_publication_and_by_an_earlier_copy() -> None:
    board = played("ladder")
    shorter = board.lines(board.entries[:-1])
    assert verify(shorter).difference is None
    assert found(board, shorter) == Difference(
        len(board.entries), "publication", "The ledger does not have this entry."
    )
    with pytest.raises(Differs, match="The earlier copy has it"):
        check_since(board.lines(), shorter)


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=20)
@given(data=st.data())
def test_entries_that_changed_places_are_found(name: str, data: st.DataObject) -> None:
    board = played(name)
    first = data.draw(st.integers(0, len(board.entries) - 2))
    second = data.draw(st.integers(first + 1, len(board.entries) - 1))
    entries = list(board.entries)
    entries[first], entries[second] = entries[second], entries[first]
    difference = found(board, board.lines(entries), publication=None)
    assert difference is not None
    assert difference.number == first + 1


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=20)
@given(data=st.data())
def test_an_entry_that_was_slipped_in_is_found(name: str, data: st.DataObject) -> None:
    board = played(name)
    place = data.draw(st.integers(0, len(board.entries) - 1))
    entries = list(board.entries)
    entries.insert(place + 1, entries[place])
    renumbered = [{**entry, "number": n} for n, entry in enumerate(entries, start=1)]
    plain = found(board, board.lines(entries), publication=None)
    assert plain is not None
    assert plain.number == place + 2
    rehashed = found(board, board.lines(rewritten(renumbered)))
    assert rehashed is not None
    assert rehashed.number == place + 2


def test_a_wrong_secret_is_not_what_was_committed_to() -> None:
    board = played("thresholdout")
    other = Salted(board.sealed_secret.salt, bytes(32))
    difference = found(board, publication=board.publication(secret=other))
    assert difference is not None
    assert difference.field == "secret_commitment"


def test_the_seam_between_salt_and_secret_can_not_be_moved() -> None:
    board = Played("thresholdout", secret=bytes(range(40)))
    honest = board.sealed_secret
    moved = Salted(honest.salt + honest.content[:8], honest.content[8:])
    assert moved.commitment == honest.commitment
    assert found(board) is None
    difference = found(board, publication=board.publication(secret=moved))
    assert difference is not None
    assert difference.field == "secret_commitment"


def test_a_wrong_solution_is_not_what_was_committed_to() -> None:
    board = played("ladder")
    other = Salted(bytes(32), board.salted.content)
    difference = found(board, publication=board.publication(solution=other))
    assert difference is not None
    assert difference.field == "solution_commitment"


def test_a_committed_solution_of_other_sizes_than_the_published_ones_is_found() -> None:
    board = Played()
    honest = board.scoring

    class Lying(Played):
        @property
        def scoring(self) -> dict[str, Any]:
            return honest | {"private_rows": ROWS - PUBLIC + 1}

    lying = Lying()
    assert found(lying) == Difference(None, "private_rows", "It is not the published solution's.")


@pytest.mark.parametrize("name", GAMES)
@settings(max_examples=20)
@given(data=st.data())
def test_a_wrong_measurement_is_found_where_the_file_is_at_hand(
    name: str, data: st.DataObject
) -> None:
    board = played(name)
    place = data.draw(st.integers(0, len(board.entries) - 1))
    kept = board.origins[place]
    mean = kept.measurement.holdout
    other = replace(mean, units=mean.units - 1 if mean.units else 1)
    lie = replace(kept, measurement=replace(kept.measurement, holdout=other))
    releases = [each.line() for each in board.origins]
    releases[place] = lie.line()
    difference = found(board, publication=board.publication(releases=releases))
    assert difference is not None
    assert difference.number == place + 1
    assert difference.field in {"holdout", "reference"}


def test_a_measurement_that_gives_another_answer_is_found_without_the_file() -> None:
    board = played("ladder")
    kept = board.origins[0]
    lie = replace(
        kept,
        measurement=replace(kept.measurement, holdout=replace(kept.measurement.holdout, units=1)),
    )
    releases = [lie.line(), *(each.line() for each in board.origins[1:])]
    report = verify(board.lines(), {1: board.publication(releases=releases)})
    assert report.difference is not None
    assert (report.difference.number, report.difference.field) == (1, "level")


def test_other_predictions_than_the_tagged_ones_are_found() -> None:
    board = played("ladder")
    releases = [each.line() for each in board.origins]
    releases[2] = replace(board.origins[2], digest=digest_of("other")).line()
    assert found(board, publication=board.publication(releases=releases)) == Difference(
        3, "predictions_tag", "It is not of the published predictions."
    )


def test_an_entry_whose_predictions_are_lost_is_taken_as_said_and_counted() -> None:
    board = played("ladder")
    releases = [each.line() for each in board.origins]
    releases[2] = Lost(3, "The stored file is gone.").line()
    report = verify(board.lines(), {1: board.publication(releases=releases)}, recall=board.recall)
    assert (report.difference, report.lost) == (None, 1)
    assert report.recomputed == report.measured == len(board.entries) - 1


def test_a_publication_that_lacks_an_entry_is_found() -> None:
    board = played("ladder")
    releases = [each.line() for each in board.origins if each.number != 3]
    difference = found(board, publication=board.publication(releases=releases))
    assert difference is not None
    assert (difference.number, difference.field) == (3, "publication")


@given(st.data())
def test_any_damage_of_a_publication_ends_in_a_named_difference(data: st.DataObject) -> None:
    board = played("ladder")
    content = bytearray(board.publication().getvalue())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    report = verify(board.lines(), {1: type(board.publication())(bytes(content))})
    # Some bytes of an archive mean nothing; what is read is checked by its CRC and commitments.
    assert report.difference is None or report.difference.message


@given(st.binary(max_size=200))
def test_any_bytes_are_read_as_a_ledger_or_refused(content: bytes) -> None:
    report = verify(content.splitlines(keepends=True))
    assert report.difference is not None


STRANGE: tuple[object, ...] = (
    None,
    "x",
    -1,
    True,
    10**40,
    10**400,
    1e300,
    math.nan,
    math.inf,
    [],
    {},
)


@pytest.mark.parametrize("value", STRANGE)
@pytest.mark.parametrize(
    "field", ["metric", "schema", "effective_private_rows", "effective_public_rows"]
)
def test_facts_that_no_server_publishes_are_named(field: str, value: object) -> None:
    board = played("thresholdout")
    facts = {**board.scoring, field: value}
    digest, entries = _loose_hash({**facts, "board": BOARD}), list[dict[str, Any]]()
    for entry in board.entries:
        body = {**entry, "parameters_hash": digest}
        body["previous_hash"] = entries[-1]["hash"] if entries else ""
        del body["hash"]
        entries.append({**body, "hash": document_hash(body)})
    header = json.loads(board.lines()[0])
    scoring = published(facts)
    header |= {"scoring": scoring, "parameters_hash": _loose_hash(scoring)}
    header |= {"head_hash": entries[-1]["hash"]}
    report = verify([json.dumps(header).encode(), *(json.dumps(e).encode() for e in entries)])
    assert report.difference is not None or field in {"metric", "schema"}


def _loose_hash(document: dict[str, Any]) -> str:
    """As `document_hash`, also of numbers that it refuses."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("field", ["certificate", "width", "log_alphabets", "asked"])
def test_numbers_beyond_all_floats_are_refused_at_their_line(field: str) -> None:
    board = played("thresholdout")
    entries = [{**board.entries[0], field: 10**400}, *board.entries[1:]]
    difference = found(board, board.lines(rewritten(entries)), publication=None)
    assert difference is not None
    assert difference.field == "line 2"


def test_a_line_without_an_end_is_not_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        read_bytes = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            self.read_bytes += len(buffer)
            return len(buffer)

    file = Endless()
    report = verify(bounded_lines(io.BufferedReader(file)))
    assert report.difference is not None
    assert file.read_bytes < 1 << 22


@pytest.mark.parametrize("name", ["competition", "version", "secret", "solution_salt"])
def test_a_publication_that_lacks_a_fact_can_t_be_read(name: str) -> None:
    board = played("ladder")
    changed = io.BytesIO()
    with zipfile.ZipFile(board.publication()) as whole, zipfile.ZipFile(changed, "w") as archive:
        for member in whole.infolist():
            content = whole.read(member)
            if member.filename == "publication.json":
                facts = json.loads(content)
                del facts[name]
                content = json.dumps(facts).encode()
            archive.writestr(member, content)
    difference = verify(board.lines(), {1: changed}).difference
    assert difference is not None
    assert difference.field == "publication"


@given(st.data())
def test_any_types_in_an_entry_are_refused_at_that_entry(data: st.DataObject) -> None:
    board = played("thresholdout")
    place = data.draw(st.integers(0, len(board.entries) - 1))
    field = data.draw(st.sampled_from(sorted(ENTRY_FIELDS - UNSEEN)))
    strange = data.draw(
        st.one_of(st.none(), st.text(), st.integers(), st.booleans(), st.just([]), st.just(1e300))
    )
    entries = list(board.entries)
    entries[place] = {**entries[place], field: strange}
    if entries[place] == board.entries[place]:
        return
    difference = found(board, board.lines(rewritten(entries)), publication=None)
    # An integer longer than any that is published makes the line itself a wrong one.
    places = (place + 1, None if difference and difference.field == f"line {place + 2}" else 0)
    assert difference is None or difference.number in places or field in {"team", "submission"}


def test_an_earlier_copy_is_the_beginning_of_the_ledger() -> None:
    board = played("ladder")
    for kept in (0, 5, len(board.entries)):
        assert check_since(board.lines(board.entries[:kept]), board.lines()) == kept


def test_rewritten_history_is_found_by_who_kept_a_copy() -> None:
    """Nothing else can tell that a moment was changed, once all hashes fit again."""
    board = played("ladder")
    entries = list(board.entries)
    entries[4] = {**entries[4], "created_at": "2025-01-01T00:00:00+00:00"}
    lines = board.lines(rewritten(entries))
    assert verify(lines).difference is None
    with pytest.raises(Differs) as differs:
        check_since(board.lines(board.entries[:7]), lines)
    assert differs.value.difference.number == 5


def test_an_answer_that_became_a_note_is_found_by_who_kept_a_copy() -> None:
    board = played("ladder")
    note = {
        **{name: board.entries[0].get(name, 0) for name in notes.FIELDS[notes.REVISION]},
        "kind": notes.REVISION,
    }
    today = rewritten([note, *board.entries[1:]])
    with pytest.raises(Differs) as differs:
        check_since(board.lines(), board.lines(today))
    assert differs.value.difference.number == 1


def test_segments_carry_on_and_a_gap_between_them_is_found() -> None:
    board = played("ladder")
    lines = board.lines()
    again = [lines[0].replace(b'"version":1', b'"version":2')]
    difference = verify([*lines, *again]).difference
    assert difference is not None
    assert difference.field == "header"


def second_segment(
    board: Played, changes: dict[str, object] | None = None, *, says: int = 2
) -> list[bytes]:
    """What follows a ledger whose solution was revised: its header and the revision."""
    scoring = board.scoring | {"solution_commitment": digest_of("revised")} | (changes or {})
    facts = published(scoring)
    head = board.head
    note: dict[str, Any] = {
        "number": len(board.entries) + 1,
        "kind": "revision",
        "version": says,
        "reason": "One label.",
        "rescore": "none",
        "asked": head.asked + 1,
        "answered": head.answered + 1,
        "log_alphabets": head.log_alphabets,
        "boards": {BOARD: {"firings": head.firings + 1, "budget_left": head.budget_left}},
        "parameters_hash": document_hash(facts["holdout"]),
        "previous_hash": board.entries[-1]["hash"],
        "created_at": "2026-01-02T00:00:00+00:00",
    }
    header = Header(
        competition="played",
        version=2,
        scoring=facts,
        parameters_hash=document_hash(facts),
        first=note["number"],
        previous_hash=note["previous_hash"],
        entries=1,
        head_hash=document_hash(note),
    )
    return [header.line(), entry_line(note, document_hash(note))]


def test_a_revision_is_verified() -> None:
    board = played("thresholdout")
    assert verify([*board.lines(), *second_segment(board)]).difference is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "balanced_accuracy"),
        ("metric_parameters", {"clip": "0.1"}),
        ("mechanism", "sparse_validate"),
        ("mechanism_parameters", BOARDS["thresholdout"] | {"confidence": "0.5"}),
        ("schema", {}),
        ("row_ids_digest", digest_of("other rows")),
    ],
)
def test_a_revision_that_changes_what_is_asked_is_found(name: str, value: object) -> None:
    board = played("thresholdout")
    report = verify([*board.lines(), *second_segment(board, {name: value})])
    assert report.difference is not None
    assert report.difference.field == name


def test_a_revision_that_names_another_version_than_its_own_is_found() -> None:
    board = played("ladder")
    difference = verify([*board.lines(), *second_segment(board, says=3)]).difference
    assert difference is not None
    assert (difference.number, difference.field) == (len(board.entries) + 1, "version")


def test_a_download_that_broke_off_is_no_whole_ledger() -> None:
    board = played("ladder")
    report = verify(board.lines()[:-2])
    assert report.difference is not None
    assert "its header promises" in report.difference.message


def test_a_custom_metric_is_named_as_not_measured() -> None:
    class Own(Played):
        @property
        def scoring(self) -> dict[str, Any]:
            return super().scoring | {"metric": "our_own"}

    board = Own(metric="balanced_accuracy")
    board.take(File("1", (1, 2)))
    report = verify(board.lines(), {1: board.publication()}, recall=board.recall)
    assert (report.difference, report.measured) == (None, 0)
    assert "'our_own'" in report.notes[0]


def test_a_line_ends_with_a_newline_and_is_ascii() -> None:
    board = played("ladder")
    assert line(board.entries[0]).endswith(b"\n")
    assert line(board.entries[0]).isascii()


def test_every_board_is_played() -> None:
    assert set(BOARDS) == set(KINDS)
