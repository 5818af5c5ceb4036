"""Run all checks of a ledger, entry by entry, in bounded memory per entry."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import IO, Any, Protocol

from scoring.verification.differences import Differs, Report
from scoring.verification.ledgers import Header, check_chain
from scoring.verification.openings import OpenedHoldout, Recall
from scoring.verification.replay import Replay, Witness


class Observer(Protocol):
    """Compare the ledger with something else on the way. Either method may raise Differs."""

    def took(self, header: Header, entry: Mapping[str, Any], replay: Replay) -> None:
        """Look at an entry, with the states behind it."""
        ...

    def ended(self, header: Header, replay: Replay) -> None:
        """Look at a segment that has ended."""
        ...


# header -> who knows what its segment was drawn from, None where that is not known
Call = Callable[[Header], Witness | None]


def verify(
    lines: Iterable[bytes],
    openings: Mapping[int, IO[bytes]] | None = None,
    recall: Recall | None = None,
) -> Report:
    """Check the lines of a ledger, of all versions of the holdout that it has.

    openings: by the holdout's version, files to be read from. recall: finds predictions that are
    at hand, which are then measured again against the opened solution. The report names the first
    difference; nothing behind it was checked.
    """
    files = openings or {}

    def call(header: Header) -> Witness | None:
        file = files.get(header.version)
        return OpenedHoldout(file, header) if file else None

    return verify_with(lines, call, recall)


def verify_with(
    lines: Iterable[bytes],
    call: Call,
    recall: Recall | None = None,
    observer: Observer | None = None,
) -> Report:
    """Check the same with any witness, and an observer on the way."""
    run = _Run(call, recall, observer)
    try:
        for item in check_chain(lines):
            if isinstance(item, Header):
                run.begin(item)
            else:
                run.take(item)
        run.end()
    except Differs as differs:
        return replace(run.report, difference=differs.difference)
    return run.report


class _Run:
    def __init__(self, call: Call, recall: Recall | None, observer: Observer | None) -> None:
        self.report = self._before = Report()
        self._call = call
        self._recall = recall
        self._observer = observer
        self._header: Header | None = None
        self._replay: Replay | None = None

    def begin(self, header: Header) -> None:
        """Begin a segment: another version of the holdout, whose ledger carries on."""
        self.end()
        before, self._replay = self._replay, None
        self._before = self.report = replace(
            self.report,
            competition=header.competition,
            versions=(*self.report.versions, header.version),
            head_hash=header.previous_hash,
        )
        self._header, opening = header, self._call(header)
        self._replay = Replay(header, opening=opening, recall=self._recall, before=before)
        for board, rules in self._replay.rules.items():
            if opening and self._recall and rules.metric is None:
                self._note(
                    f"The metric {header.boards[board]['metric']!r} is this server's own: what it "
                    "measured can't be measured again here."
                )

    def take(self, entry: dict[str, object]) -> None:
        assert self._replay is not None  # noqa: S101  (a ledger begins with a header)
        self._replay.take(entry)
        if self._observer and self._header:
            self._observer.took(self._header, entry, self._replay)
        self.report = replace(
            self.report,
            entries=self.report.entries + 1,
            recomputed=self._before.recomputed + self._replay.recomputed,
            lost=self._before.lost + self._replay.lost,
            measured=self._before.measured + self._replay.measured,
            head_hash=str(entry["hash"]),
        )

    def end(self) -> None:
        """End a segment: nothing of its opening may be left."""
        if self._replay is not None and self._replay.opening is not None:
            self._replay.opening.check_end()
        if self._observer and self._replay and self._header:
            self._observer.ended(self._header, self._replay)

    def _note(self, text: str) -> None:
        if text not in self.report.notes:
            self.report = replace(self.report, notes=(*self.report.notes, text))
