"""How an oracle begins, and how it goes on: labels, secret and ledger that belong together."""

import json
import secrets
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from durable.files import Held, hold, write_private
from durable.watermark import Rewound, WatermarkAway
from holdfast.errors import Failure
from holdfast.oracle.labels import Labels, Layout, read_labels
from holdfast.oracle.ledger import FILE, Json, Ledger, Setup
from scoring import ledger, mechanisms, metrics
from scoring.entries import board_facts, holdout_facts
from scoring.errors import HoldfastError, ParameterError
from scoring.gates import loss_of_mark
from scoring.guarantees.groups import choose_designs
from scoring.mechanisms.fitness import finest_grid
from scoring.mechanisms.reference import MINIMUM_PUBLIC_ROWS
from scoring.metrics import Metric
from scoring.noise import KeyedNoise
from scoring.predictions import Usage
from scoring.verification.publications import SALT_BYTES, Salted
from scoring.verification.replay import Rules

KEYS: Final = "secret"  # the name of the file
NAMES: Final = {"guard": "guard", "ladder": "ladder", "mark": "sparse_validate"}
_GRID: Final = 10_000  # marks are multiples of 1 / _GRID of the range
_BUDGETS: Final = {"guard": "20", "sparse_validate": "100"}  # one analyst has all of it


@dataclass(frozen=True)
class Choice:
    """What was ordered: the question, how it is answered, and how often.

    mechanism: guard, ladder or mark; "" for Guard where it fits, else the Ladder. mark: a score.
    limit: of questions; None for no end, a little wider. gates: how many gates may be asked.
    """

    metric: str
    limit: int | None = None
    mechanism: str = ""
    mark: float | None = None
    metric_parameters: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    gates: int | None = None

    def found_metric(self) -> Metric:
        """Return the metric. Raises Failure where there is none of this name."""
        try:
            return metrics.get(self.metric)
        except ParameterError as error:
            raise Failure(error.message) from None

    def choose(self, metric: Metric, labels: Labels) -> "_Board":
        """Return the board: what it asks, and how it answers. Raises ParameterError."""
        counts = labels.solution.counts()
        fits_guard = metric.is_mean and counts.public >= MINIMUM_PUBLIC_ROWS
        name = self.mechanism or ("mark" if self.mark is not None else "")
        name = name or ("guard" if fits_guard else "ladder")
        if name not in NAMES:
            known = ", ".join(NAMES)
            raise ParameterError("mechanism", f"There is no {name!r} here; choose from {known}.")
        if (name == "mark") != (self.mark is not None):
            raise ParameterError("mark", "Give --mark SCORE with --mechanism mark, and only there.")
        parsed = metric.parse(self.metric_parameters)
        metric.check(labels.schema, labels.solution, parsed)
        mechanism = mechanisms.get(NAMES[name])
        own = dict(self.parameters)
        if mechanism.name in _BUDGETS:
            own.setdefault("budget", _BUDGETS[mechanism.name])
            own.setdefault("team_share", own["budget"])
        if mechanism.name == "guard" and not counts.public:
            own.setdefault("reference", "claim")
        if self.mark is None:
            default = next(each.default for each in mechanism.parameters if each.name == "steps")
            own.setdefault("steps", str(min(int(default), finest_grid(counts.private, metric))))
        if self.mark is not None:
            loss = loss_of_mark(metric, parsed, self.mark)
            own["mark"] = str(Fraction(round(loss * _GRID), _GRID))
            own["questions"] = str(self.limit or 10_000_000)
        mechanism.check(mechanism.parse(own), metric, counts)
        return _Board(metric.name, dict(self.metric_parameters), mechanism.name, own)


@dataclass(frozen=True)
class _Board:
    metric: str
    metric_parameters: Json
    mechanism: str
    mechanism_parameters: Json


@dataclass(frozen=True)
class _Rows:
    """The rows of the labels, as they are counted and committed to."""

    row_ids_digest: str
    solution_commitment: str
    secret_commitment: str
    public_rows: int
    private_rows: int
    effective_public_rows: int
    effective_private_rows: int
    designs: dict[str, Any]


@dataclass(frozen=True, repr=False)
class Secret:
    """What only the oracle knows besides the labels; the file of it is made before anything else.

    seed: of the split. key: of all noise, committed to with `key_salt`; salt: of the labels.
    """

    uid: str
    board: str
    team: str
    seed: bytes
    salt: bytes
    key: bytes
    key_salt: bytes

    @classmethod
    def draw(cls) -> Self:
        drawn = (secrets.token_bytes(SALT_BYTES) for _ in range(4))
        return cls(uuid.uuid4().hex, uuid.uuid4().hex, uuid.uuid4().hex, *drawn)

    def write(self, path: Path) -> None:
        texts = {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in asdict(self).items()
        }
        write_private(path, json.dumps(texts) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the secret of a file. Raises Failure where it is none."""
        try:
            texts = json.loads(path.read_text(encoding="ascii"))
            found: Json = {
                name: text if name in ("uid", "board", "team") else bytes.fromhex(text)
                for name, text in texts.items()
            }
            return cls(**found)
        except OSError as error:
            raise Failure(f"The secret {path} can't be read: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Failure(
                f"The secret {path} is damaged.",
                hint="Put it back from a backup: without it this ledger answers nobody.",
            ) from None


@dataclass(frozen=True, repr=False)
class Opened:
    """An oracle's parts, which belong together."""

    setup: Setup
    ledger: Ledger
    labels: Labels
    noise: KeyedNoise
    is_new: bool


@contextmanager
def hold_directory(directory: Path) -> Iterator[None]:
    """Keep every other oracle off a ledger. Raises Failure with the process that has it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with hold(directory / "lock"):
            yield
    except Held as held:
        who = f"the process {held.by}" if held.by else "another process"
        raise Failure(
            f"The ledger in {directory} is held by {who}: one oracle answers from a ledger.",
            hint="End that one first, or give this one a ledger of its own with --ledger.",
        ) from None
    except PermissionError as error:
        raise Failure(
            f"{error.filename or directory} can't be written: {error.strerror}.",
            hint="It belongs to the user that the oracle ran as before.",
        ) from None


def open_all(
    directory: Path, source: BinaryIO, name: str, layout: Layout, choice: Choice
) -> Opened:
    """Open labels and ledger, or begin the ledger. Raises Failure where they don't fit.

    Call it under `hold_directory`. name: of the file of the labels, for messages.
    """
    secret, has_secret = _secret(directory)
    metric = choice.found_metric()
    labels = read_labels(source, name, layout, metric, secret.seed)
    salted = Salted(secret.salt, labels.solution.to_bytes())
    try:
        setup = _setup(secret, salted.commitment, labels, choice, metric)
    except HoldfastError as error:
        text = error.message if isinstance(error, ParameterError) else str(error)
        raise Failure(f"This oracle can't begin. {text}") from None
    opened = Ledger.connect(directory)
    try:
        begun = opened.setup
        if begun is None:
            opened.begin(setup)
        else:
            if not has_secret or begun.uid != secret.uid:
                raise Failure(
                    f"The secret in {directory} is not that of the ledger beside it.",
                    hint="Put it back from a backup: without it this ledger answers nobody.",
                )
            _compare(begun.scoring, setup.scoring, name)
        opened.check(setup.uid)
    except Rewound as rewound:
        raise Failure(
            f"The ledger in {directory} is older than what it has answered. {rewound}",
            hint="A copy was put back? Answers that it does not know are known to others: put the "
            "newest copy back, or begin with fresh labels in another directory.",
        ) from None
    except WatermarkAway as away:
        raise Failure(str(away)) from None
    noise = KeyedNoise(secret.key, salted.commitment)
    return Opened(setup, opened, labels, noise, begun is None)


def _secret(directory: Path) -> tuple[Secret, bool]:
    path = directory / KEYS
    if path.exists():
        return Secret.read(path), True
    if (directory / FILE).exists():
        raise Failure(
            f"{directory} has a ledger and no file {KEYS}: without it it answers nobody.",
            hint="Put it back from a backup, or begin in another directory with fresh labels.",
        )
    drawn = Secret.draw()
    drawn.write(path)
    return drawn, False


def _setup(
    secret: Secret, commitment: str, labels: Labels, choice: Choice, metric: Metric
) -> Setup:
    solution, board = labels.solution, choice.choose(metric, labels)
    counts = solution.counts()
    rows = _Rows(
        row_ids_digest=solution.row_ids_digest,
        solution_commitment=commitment,
        secret_commitment=Salted(secret.key_salt, secret.key).commitment,
        public_rows=counts.public,
        private_rows=counts.private,
        effective_public_rows=solution.effective_rows(Usage.PUBLIC),
        effective_private_rows=solution.effective_rows(Usage.PRIVATE),
        designs=choose_designs(solution),
    )
    held, asked = holdout_facts(rows, labels.schema.to_json()), board_facts(board)
    rules = Rules.of(secret.board, held | asked)
    limits = {"question_limit": choice.limit, "gate_limit": choice.gates}
    began = ledger.begin([(rules.mechanism, rules.asked.laws)], **limits)
    scoring = {"holdout": held, "boards": {secret.board: asked}, "ledger": began.to_json()}
    # As it will be read again, so that both can be compared.
    return Setup(secret.uid, secret.board, secret.team, json.loads(json.dumps(scoring)))


_SAID: Final = {
    "row_ids_digest": "The rows are others",
    "solution_commitment": "The labels, or how they are split or weighted, are others",
    "secret_commitment": "The secret is another",
    "schema": "The columns or classes are others",
}


def _compare(begun: Json, given: Json, name: str) -> None:
    """Raise Failure naming the first difference between what the ledger began with, and what came.

    Of labels no more is said than that they are others.
    """
    first, now = (
        {**next(iter(each["boards"].values())), **each["ledger"], **each["holdout"]}
        for each in (begun, given)
    )
    order = (*next(iter(begun["boards"].values())), *begun["ledger"], "gate_limit", *_SAID)
    fact = next((each for each in order if first.get(each) != now.get(each)), None)
    if fact is None:
        return
    what = f"Its {fact.replace('_', ' ')} is {first.get(fact)}; this is {now.get(fact)}."
    if fact in _SAID:
        what = f"{_SAID[fact]} in {name}."
    raise Failure(
        f"This does not fit the ledger, which began otherwise. {what}",
        hint="Start it as it began, or begin another one with --ledger and fresh labels.",
    )
