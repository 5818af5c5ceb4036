"""The oracle as an agent's program asks it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self
from urllib.parse import quote

import httpx

from holdfast.config import Settings
from holdfast.connection import Connection, Json
from holdfast.errors import Failure, Invalid, Rejected
from holdfast.frames import Predictions, as_upload
from holdfast.output import size
from holdfast.records import Guarantee, Interval, Record, Rows

LOCAL = "unix:"


@dataclass(frozen=True, kw_only=True)
class Left(Record):
    """What may still be asked; None where nothing limits it. answers: corrections, or passes."""

    questions: int | None
    answers: int | None
    gates: int | None


@dataclass(frozen=True, kw_only=True)
class Answer(Record):
    """What the oracle said of a file.

    kind: as on a board. score: None where none is shown. certificate: the interval that the
    expected score lies in, None where nothing is guaranteed. left: what may still be asked.
    """

    number: int
    kind: str
    score: float | None
    score_text: str | None
    certificate: Interval | None
    guarantee_text: str
    share_left: int | None
    summary: str
    campaign: str
    is_repeat: bool
    left: Left


@dataclass(frozen=True, kw_only=True)
class Verdict(Record):
    """What a gate said of a file."""

    number: int
    passed: bool
    summary: str
    campaign: str
    is_repeat: bool
    left: Left


@dataclass(frozen=True)
class _Frame:
    header: list[str]
    ids: list[str]


class Oracle:
    """A local oracle, `holdfast oracle serve`, at `unix:PATH` or `http://127.0.0.1:PORT`.

        oracle = holdfast.Oracle("unix:oracle.sock")
        answer = oracle.ask(y_pred)        # an array, a data frame, or the path of a file
        answer.score, answer.certificate, answer.left.questions

    campaign: the name that questions are counted under, unless `ask` says another one.
    """

    def __init__(self, address: str = "unix:oracle.sock", *, campaign: str = "") -> None:
        """Connect to nothing yet; the first question does. Raises Failure for no address."""
        if not address.startswith((LOCAL, "http://", "https://")):
            raise Failure(
                f"An oracle's address is unix:PATH or http://127.0.0.1:PORT, not {address!r}. "
                "Nothing was sent."
            )
        self.address, self.campaign = address, campaign
        local = address.startswith(LOCAL)
        path = address.removeprefix(LOCAL) if local else None
        # Nothing is encrypted on this machine: certificates need not be read.
        way = httpx.HTTPTransport(uds=path, verify=False)
        self._api = Connection(
            Settings(url=address), base="http://oracle" if local else address, way=way
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._api.close()

    def ask(
        self, predictions: Predictions, *, claim: float | None = None, campaign: str | None = None
    ) -> Answer:
        """Ask about predictions; the same ones again get the same answer, at no cost.

        claim: the score that you expect, where the oracle takes claims (`facts["takes_claims"]`).
        Raises Rejected for a file that is wrong, and other Failures; then nothing was counted.
        """
        claims = {} if claim is None else {"claim": repr(float(claim))}
        found = self._send("questions/", predictions, campaign, **claims)
        return Answer.read({**found, **found["release"]})

    def gate(self, name: str, predictions: Predictions, *, campaign: str | None = None) -> Verdict:
        """Ask a gate about predictions: one bit. Raises Failure as `ask` does."""
        found = self._send(f"gates/{quote(name, safe='')}/", predictions, campaign)
        return Verdict.read({**found, **found["gate"]})

    @property
    def facts(self) -> Json:
        """Return metric, mechanism, columns, limits, gates, and what may still be asked."""
        return self._api.get("")

    def guarantee(self) -> Guarantee:
        """Return what the oracle promises of its best score now, and at its limit at this pace."""
        return Guarantee.read(self._api.get("guarantee/"))

    def history(self) -> Rows[Answer]:
        """Return the newest answers of the board, the newest first."""
        found = self._api.get("history/")
        answers = (each for each in found["results"] if "release" in each)
        return Rows((Answer.read({**each, **each["release"]}) for each in answers), found["count"])

    def ledger(self) -> bytes:
        """Return the ledger as it is published, for `holdfast verify --ledger`."""
        with self._api.stream("ledger/") as response:
            return response.read()

    @cached_property
    def _frame(self) -> _Frame:
        return _Frame(**self._api.get("sample/"))

    @cached_property
    def _most_bytes(self) -> int:
        return int(self.facts["max_file_bytes"])

    def _send(
        self, path: str, predictions: Predictions, campaign: str | None, **params: Any
    ) -> Json:
        upload = as_upload(predictions, lambda: self._frame)
        if upload.size > self._most_bytes:
            text = f"{upload.name} has {size(upload.size)}; at most {size(self._most_bytes)}"
            refused = Invalid(f"{text} are taken. Nothing was sent.")
            refused.code = "file_too_large"
            raise refused
        named = self.campaign if campaign is None else campaign
        if named:
            params["campaign"] = named
        try:
            with upload.open() as file:
                return self._api.send("POST", path, params=params, content=file.read())
        except Invalid as refused:
            if refused.code != Rejected.code:
                raise
            rejected = Rejected(refused.message, details=refused.details)
            rejected.problems = refused.problems
            raise rejected from None
