"""Two worlds that differ in their hidden data and in nothing that the mechanisms say of it.

Rows come in pairs, for which every file predicts the same. World B has the two solutions of a pair
exchanged, label, set and weight, so that other rows are Public and other labels hidden; and one
label more is wrong for every file, which no released value shows. Every competition is played by
two teams, up to what each mechanism can say.

What differs by nature are the commitments, hidden by salts, and what is hashed with them.
"""

from __future__ import annotations

import hashlib
import os
import random
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from django.apps import apps
from django.core.files.base import ContentFile
from django.core.management.color import no_style
from django.db import connection

from leaderboard import organize
from leaderboard.models import Competition, FileRole, Holdout, Ledger, LogHead, Release, User
from scoring.transparency.merkle import nodes_of, root_at
from scoring.transparency.notes import Note
from tests.cast import upload

PAIRS, PUBLIC_PAIRS = 100, 20
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLASSES = {"accuracy": 4, "roc_auc": 2}
LADDER = {"steps": "20", "confidence": "0.95"}
CHECKED = {
    "threshold": "0.25",
    "noise_scale": "0.0125",
    "budget": "4",
    "team_share": "2",
    "steps": "20",
    "confidence": "0.95",
}


@dataclass(frozen=True)
class Twin:
    """A competition of both worlds.

    `column`: it has a second board, with Thresholdout. `later` is played in a further round on the
    same rows.
    """

    slug: str
    metric: str = "accuracy"
    mechanism: str = "ladder"
    parameters: dict[str, str] = field(default_factory=lambda: LADDER)
    weighted: bool = False
    column: bool = False
    plays: tuple[tuple[str, range], ...] = ()
    later: tuple[tuple[str, range], ...] = ()

    @property
    def is_noisy(self) -> bool:
        """Return whether another secret may lead to other answers."""
        return self.column or self.mechanism == "thresholdout"


_STEPS = (
    ("participant", range(60, 80)),
    ("participant", range(60, 70)),
    ("participant", range(62, 70)),
    ("participant", range(60, 60)),
    ("participant", range(60, 60)),
    ("rival", range(50, 90)),
)
TWINS = (
    Twin("twin-ladder", plays=_STEPS),
    Twin("twin-weights", weighted=True, plays=_STEPS),
    Twin("twin-auc", metric="roc_auc", plays=_STEPS),
    Twin(
        "twin-columns",
        column=True,
        plays=(("participant", range(60, 80)), ("rival", range(20, 90))),
        later=(("participant", range(60, 70)), ("rival", range(60, 64))),
    ),
    Twin("twin-own", metric="example_touchy", plays=_STEPS[:2]),
    Twin(
        "twin-checked",
        mechanism="thresholdout",
        parameters=CHECKED,
        plays=(
            ("participant", range(60, 60)),
            ("participant", range(20, 90)),
            ("participant", range(20, 95)),
            ("participant", range(20, 85)),
            ("rival", range(60, 64)),
        ),
    ),
)


def kinds() -> set[str]:
    """Return what the mechanisms said in this world."""
    return set(Release.objects.values_list("kind", flat=True))


def released() -> list[tuple[object, ...]]:
    """Return everything that was released, in order, without the hashes."""
    names = ("submission_id", "kind", "level", "reference_level", "asked", "width", "certificate")
    return list(Release.objects.order_by("pk").values_list(*names))


def build(twin: Twin, world: str, organizer: User, coin: str) -> Competition:
    """Make the competition with the solution of world "a" or "b".

    `coin` decides its noise and salts, and the id of its ledger.
    """
    columns: list[dict[str, Any]] = [{"name": "label", "kind": "label", "classes": _classes(twin)}]
    if twin.metric == "roc_auc":
        columns = [{"name": "label", "kind": "number"}]
    competition = organize.create_competition(
        slug=twin.slug,
        organizer=organizer,
        title=twin.slug.title(),
        description="# Twins",
        rules="Play fair.",
        opens_at=NOW - timedelta(days=1),
        closes_at=NOW + timedelta(days=30),
        schema={"id_column": "id", "columns": columns},
        metric=twin.metric,
        mechanism=twin.mechanism,
        mechanism_parameters=twin.parameters,
        daily_limit=8,
    )
    round = competition.current_round
    sample = "id,label\n" + "".join(f"r{row},0\n" for row in range(2 * PAIRS))
    organize.add_file(round, upload(sample.encode(), "sample.csv"), role=FileRole.SAMPLE)
    organize.add_file(round, upload(b"x,label\n1,0\n", "train.csv"), role=FileRole.TRAIN)
    if twin.column:
        organize.add_board(
            round,
            by=organizer,
            metric=twin.metric,
            metric_parameters={},
            mechanism="thresholdout",
            mechanism_parameters=CHECKED,
        )
    with fixed_randomness(f"{twin.slug} {coin}"):
        file = ContentFile(solution(twin, world), name="solution.csv")
        organize.install_solution(round, file, by=organizer)
    organize.open_competition(competition)
    return competition


def go_on(twin: Twin, organizer: User) -> None:
    """Close the round, and open a further one on the same rows."""
    competition = Competition.objects.get(slug=twin.slug)
    closed = {"opens_at": NOW - timedelta(days=2), "closes_at": NOW - timedelta(hours=1)}
    competition.rounds.update(**closed)
    organize.add_round(
        competition,
        by=organizer,
        continues=True,
        opens_at=NOW - timedelta(minutes=30),
        closes_at=NOW + timedelta(days=30),
    )


def solution(twin: Twin, world: str) -> bytes:
    """Write the hidden file."""
    lines = ["id,label,Usage" + (",Weight" if twin.weighted else "")]
    for pair in range(PAIRS):
        rows = [_row(twin, pair, odd, world) for odd in (False, True)]
        for place, row in enumerate(reversed(rows) if world == "b" else rows):
            lines.append(f"r{2 * pair + place},{row}")
    return ("\n".join(lines) + "\n").encode()


def guesses(twin: Twin, wrong: range) -> bytes:
    """Write a file that errs on both rows of some pairs."""
    lines = ["id,label"]
    for pair in range(PAIRS):
        label = _label(twin, pair, 1 if pair in wrong else 0)
        lines += [f"r{2 * pair},{label}", f"r{2 * pair + 1},{label}"]
    return ("\n".join(lines) + "\n").encode()


def _row(twin: Twin, pair: int, odd: bool, world: str) -> str:
    # Every tenth pair has one label that no file predicts; in world B one pair more.
    moved = (odd and pair % 10 == 0) or (world == "b" and not odd and pair == 55)
    usage = "Public" if pair < PUBLIC_PAIRS and not odd else "Private"
    weight = f",{1 + pair % 3}" if twin.weighted else ""
    return f"{_label(twin, pair, _OTHER_CLASS if moved else 0)},{usage}{weight}"


_OTHER_CLASS = 3


def _label(twin: Twin, pair: int, away: int) -> int:
    classes = len(_classes(twin))
    return (pair + away) % classes


def _classes(twin: Twin) -> list[str]:
    return [str(label) for label in range(CLASSES.get(twin.metric, 4))]


# --- What is made equal on both sides -------------------------------------------------------------


class Stream:
    """Bytes that look random and are the same in every run."""

    def __init__(self, seed: str) -> None:
        self._seed, self._taken = seed.encode(), 0

    def __call__(self, size: int) -> bytes:
        self._taken += 1
        start = self._seed + self._taken.to_bytes(8)
        return hashlib.shake_256(start).digest(size)


@contextmanager
def fixed_randomness(seed: str) -> Iterator[None]:
    """Have the system's source of randomness give the same bytes on both sides.

    Session keys, form tokens, request ids, salts and secrets would differ by chance alone.
    """
    stream = Stream(seed)
    with (
        mock.patch.object(os, "urandom", stream),
        mock.patch.object(random, "_urandom", stream),
        mock.patch("knox.crypto.generate_bytes", stream),
        mock.patch("django.core.mail.message.make_msgid", return_value="<a mail>"),
    ):
        yield


@contextmanager
def stopped_clock() -> Iterator[None]:
    """Stop at one moment: dates are published, and seconds pass by chance."""
    seconds = NOW.timestamp()
    with (
        mock.patch("django.utils.timezone.now", return_value=NOW),
        mock.patch("time.time", return_value=seconds),
        mock.patch("leaderboard.platform.access_log._write"),  # says how long the answer took
        mock.patch(
            "django.contrib.auth.tokens.PasswordResetTokenGenerator._now",
            return_value=NOW.replace(tzinfo=None),
        ),
    ):
        yield


def number_from_one() -> None:
    """Begin keys of rows anew, as in a database that has just been made."""
    models = list(apps.get_models(include_auto_created=True))
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def hidden_values() -> dict[str, str]:
    """Name each hexadecimal value that differs between the worlds by nature.

    Commitments, what is keyed by the secret that belongs to them, and hashes over these.
    """
    named = dict[str, str]()
    for number, holdout in enumerate(Holdout.objects.order_by("pk")):
        named[holdout.solution_commitment] = f"<solution {number}>"
        named[holdout.secret_commitment] = f"<secret {number}>"
    for number, uid in enumerate(Ledger.objects.order_by("pk").values_list("uid", flat=True)):
        named[uid] = f"<ledger {number}>"
    for number, entry in enumerate(Release.objects.order_by("pk")):
        named[entry.predictions_tag] = f"<tag {number}>"
        named.setdefault(entry.parameters_hash, f"<parameters of {number}>")
        named[entry.hash] = f"<hash {number}>"
    heads = Ledger.objects.exclude(head_hash="").values_list("head_hash", flat=True)
    assert set(heads) <= set(named)
    return named | _hidden_of_logs()


def _hidden_of_logs() -> dict[str, str]:
    """Name every hash of the logs' trees, as bytes and in base64, and the signatures of heads."""
    named = dict[str, str]()
    for number, head in enumerate(LogHead.objects.select_related("competition").order_by("pk")):
        leaves = head.competition.log_entries.order_by("index").values_list("hash", flat=True)
        hashes = [bytes.fromhex(each) for each in leaves[: head.size]]
        trees = [(0, len(hashes))]
        while trees:
            start, end = trees.pop()
            root = root_at(end - start, nodes_of(hashes[start:end]))
            name = f"<hash of entries {start} to {end} of log {number}>"
            named[root.decode("latin-1")] = named[b64encode(root).decode()] = name
            if end - start > 1:
                middle = start + (1 << (end - start - 1).bit_length() - 1)
                trees += [(start, middle), (middle, end)]
        (signature,) = Note.parse(head.note).signatures
        named[str(signature).split()[2]] = f"<signature of log {number}>"
    return named
