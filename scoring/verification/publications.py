"""The publication of a holdout version: what was committed to, and what was measured.

A zip archive with three members:

    publication.json which holdout, the salts, the noise secret
    solution.npz     the labels and the usage of each row, as they were sealed
    releases.jsonl   for each answer of the ledger, in order: the digest of its predictions and the
                     exact means that it was drawn from, for each duel its p-value, for each gate
                     what it measured, or why these are lost

The commitments are SHA-256 of salt and content; they stood in the ledger from the beginning.
"""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import IO, Any, Final

from scoring.chain import canonical
from scoring.duels import Comparison
from scoring.errors import HoldfastError, ParameterError, StateError
from scoring.gates import Evidence
from scoring.guarantees.groups import choose_designs
from scoring.measurement import Mean, Measurement
from scoring.noise import KeyedNoise
from scoring.predictions import Predictions, Schema, Solution, Usage
from scoring.predictions.archives import BAD_ZIP
from scoring.verification.differences import Differs, shown
from scoring.verification.ledgers import Header

FORMAT: Final = "holdfast publication 1"
FACTS: Final = "publication.json"
SOLUTION: Final = "solution.npz"
RELEASES: Final = "releases.jsonl"
SALT_BYTES: Final = 32
# The same bytes for the same content, whenever they are written.
_MOMENT: Final = (1980, 1, 1, 0, 0, 0)
_LONGEST_LINE: Final = 4096
_LONGEST_FACTS: Final = 1 << 16
_UNREADABLE: Final = (*BAD_ZIP, StateError)


@dataclass(frozen=True, repr=False)
class Salted:
    """What was committed to, and the salt that hid it."""

    salt: bytes
    content: bytes

    @property
    def commitment(self) -> str:
        digest = hashlib.sha256(self.salt)
        digest.update(self.content)
        return digest.hexdigest()


@dataclass(frozen=True, repr=False)
class Origin:
    """What an entry of the ledger was drawn from."""

    number: int
    digest: str
    measurement: Measurement

    def line(self) -> bytes:
        means = asdict(self.measurement)
        facts = {"number": self.number, "predictions_digest": self.digest}
        return canonical(facts | means) + b"\n"


@dataclass(frozen=True, repr=False)
class Compared:
    """What a duel's answer follows from."""

    number: int
    comparison: Comparison

    def line(self) -> bytes:
        return canonical({"number": self.number, "p": self.comparison.p}) + b"\n"


@dataclass(frozen=True, repr=False)
class Gated:
    """What a gate's answer follows from; `in_use` is the digest of the file that it compares with.

    It is empty where there is none.
    """

    number: int
    digest: str
    in_use: str
    evidence: Evidence

    def line(self) -> bytes:
        found = asdict(self.evidence)
        compared = found.pop("comparison")
        facts = {"number": self.number, "predictions_digest": self.digest, "in_use": self.in_use}
        return canonical(facts | found | {"p": compared and compared["p"]}) + b"\n"


@dataclass(frozen=True)
class Lost:
    """An entry whose predictions could not be read or measured any more, and why."""

    number: int
    reason: str

    def line(self) -> bytes:
        return canonical({"number": self.number, "lost": self.reason}) + b"\n"


@dataclass(frozen=True)
class Known:
    """Predictions that are at hand, and what their team claimed as a loss, if that is known."""

    predictions: Predictions
    claimed: Fraction | float | None = None


# (entry of the ledger, digest of its predictions) -> the predictions, None if not at hand
Recall = Callable[[Mapping[str, Any], str], Known | None]


def write_publication(
    file: IO[bytes],
    *,
    competition: str,
    version: int,
    solution: Salted,
    secret: Salted,
    releases: Iterable[bytes],
) -> None:
    """Write the archive to a seekable file; `releases` are lines of `Origin`, used as they come.

    The same content gives the same bytes.
    """
    facts = {
        "format": FORMAT,
        "competition": competition,
        "version": version,
        "solution_salt": solution.salt.hex(),
        "solution_commitment": solution.commitment,
        "secret": secret.content.hex(),
        "secret_salt": secret.salt.hex(),
        "secret_commitment": secret.commitment,
    }
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(_member(FACTS), canonical(facts) + b"\n")
        archive.writestr(_member(SOLUTION), solution.content)
        with archive.open(_member(RELEASES, zipfile.ZIP_DEFLATED), "w", force_zip64=True) as out:
            for line in releases:
                out.write(line)


class Publication:
    """A publication that is read. Raises Differs where it is damaged or not what was committed to.

    header: of the ledger's segment that it is of. Entries are asked for in the ledger's order.
    """

    def __init__(self, file: IO[bytes], header: Header) -> None:
        try:
            self._archive = zipfile.ZipFile(file)
            facts = self._facts()
            secret = Salted(*(bytes.fromhex(facts[name]) for name in ("secret_salt", "secret")))
            salt = bytes.fromhex(facts["solution_salt"])
            solution = Salted(salt, self._stored(SOLUTION))
            facts_of = facts["competition"], facts["version"]
        except _UNREADABLE:
            raise Differs(None, "publication", "The publication can't be read.") from None
        if facts_of != (header.competition, header.version):
            raise Differs(None, "publication", "It is of another holdout.")
        _check_commitment(solution, header, "solution_commitment")
        _check_commitment(secret, header, "secret_commitment")
        self.solution: Solution | None = _solution(solution.content, header)
        try:
            self.noise = KeyedNoise(secret.content, header.holdout["solution_commitment"])
        except ValueError:
            raise Differs(None, "secret", "It is too short to key noise.") from None
        self._lines = self._releases()

    def origin(self, entry: Mapping[str, Any]) -> Origin | Compared | Gated | Lost:
        """Return what this entry was drawn from. Raises Differs."""
        number = entry["number"]
        if (found := self._next(number)) is None:
            raise Differs(number, "publication", "The publication does not have this entry.")
        if found.number != number:
            raise Differs(number, "publication", f"Here it has the entry {shown(found.number)}.")
        return found

    def check_end(self) -> None:
        """Raise Differs if the publication has more entries than the ledger."""
        if (more := self._next(None)) is not None:
            raise Differs(more.number, "publication", "The ledger does not have this entry.")

    def _next(self, number: int | None) -> Origin | Compared | Gated | Lost | None:
        try:
            return next(self._lines, None)
        except _UNREADABLE:
            message = "The publication can't be read any further."
            raise Differs(number, "publication", message) from None

    def _facts(self) -> dict[str, Any]:
        if self._archive.getinfo(FACTS).file_size > _LONGEST_FACTS:
            raise ValueError("not written here")
        facts = json.loads(self._stored(FACTS))
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError("another format")
        return facts

    def _stored(self, name: str) -> bytes:
        """Read a member that is not compressed: it is no larger than the archive."""
        if self._archive.getinfo(name).compress_type != zipfile.ZIP_STORED:
            raise ValueError("not written here")
        return self._archive.read(name)

    def _releases(self) -> Iterator[Origin | Compared | Gated | Lost]:
        with self._archive.open(RELEASES) as lines:
            while line := lines.readline(_LONGEST_LINE):
                document = json.loads(line)
                if "lost" in document:
                    yield Lost(int(document["number"]), str(document["lost"]))
                    continue
                if "in_use" in document:
                    yield _gated(document)
                    continue
                if "p" in document:
                    yield Compared(int(document["number"]), _comparison(document["p"]))
                    continue
                number, digest = document["number"], document["predictions_digest"]
                if type(number) is not int or type(digest) is not str:
                    raise TypeError("not written here")
                holdout, reference = document["holdout"], document["reference"]
                means = Mean(**holdout), None if reference is None else Mean(**reference)
                yield Origin(number, digest, Measurement(*means))


def _member(name: str, compression: int = zipfile.ZIP_STORED) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _MOMENT)
    member.compress_type = compression
    member.external_attr = 0o644 << 16
    return member


def _comparison(p: object) -> Comparison:
    if not isinstance(p, float | int) or not 0 < p <= 1:
        raise ValueError("not written here")
    return Comparison(float(p))


def _gated(document: Mapping[str, Any]) -> Gated:
    digests = document["predictions_digest"], document["in_use"]
    if any(type(each) is not str for each in digests) or type(document["differs"]) is not bool:
        raise TypeError("not written here")
    found, known = (
        None if document[name] is None else Mean(**document[name]) for name in ("found", "known")
    )
    compared = None if document["p"] is None else _comparison(document["p"])
    evidence = Evidence(found, known, compared, document["differs"])
    return Gated(int(document["number"]), *digests, evidence)


def _check_commitment(salted: Salted, header: Header, name: str) -> None:
    if len(salted.salt) != SALT_BYTES:
        # Otherwise the same bytes could be split into salt and content wherever it suits.
        raise Differs(None, name, f"Its salt does not have {SALT_BYTES} bytes.")
    if salted.commitment != header.holdout.get(name):
        raise Differs(None, name, "What was published is not what was committed to.")


def _solution(content: bytes, header: Header) -> Solution:
    """Read the labels, which must match the published facts."""
    try:
        solution = Solution.from_bytes(content)
    except HoldfastError:
        raise Differs(None, "solution", "What was committed to is no solution.") from None
    try:
        schema = Schema.from_json(header.holdout.get("schema"))
    except ParameterError as error:
        raise Differs(None, "schema", error.message) from None
    if solution.schema != schema:
        raise Differs(None, "schema", "It is not the published solution's.")
    counts = solution.counts()
    found = {
        "row_ids_digest": solution.row_ids_digest,
        "public_rows": counts.public,
        "private_rows": counts.private,
        "effective_public_rows": solution.effective_rows(Usage.PUBLIC),
        "effective_private_rows": solution.effective_rows(Usage.PRIVATE),
        "designs": choose_designs(solution) or None,
    }
    for name, value in found.items():
        if header.holdout.get(name) != value:
            raise Differs(None, name, "It is not the published solution's.")
    return solution
