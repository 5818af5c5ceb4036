"""Run all checks of a ledger, entry by entry, in bounded memory per entry."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import IO, Any, Protocol

from scoring.verification.differences import Differs, Report
from scoring.verification.ledgers import Header, check_chain
from scoring.verification.publications import Publication, Recall
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
    publications: Mapping[int, IO[bytes]] | None = None,
    recall: Recall | None = None,
    observer: Observer | None = None,
) -> Report:
    """Check the lines of a ledger, of all versions of the holdout that it has.

    publications: by the holdout's version, files to be read from. recall: finds predictions that
    are at hand, which are then measured again against the published solution. observer: compares
    the ledger with something else on the way. The report names the first difference; nothing behind
    it was checked.
    """
    files = publications or {}

    def call(header: Header) -> Witness | None:
        file = files.get(header.version)
        return Publication(file, header) if file else None

    return verify_with(lines, call, recall, observer)


def verify_with(
    lines: Iterable[bytes],
    call: Call,
    recall: Recall | None = None,
    observer: Observer | None = None,
) -> Report:
    """Check the same with any witness, and an observer on the way."""
    report, replay = Report(), None
    try:
        for item in check_chain(lines):
            if isinstance(item, Header):
                _end(replay, observer)
                report = replace(
                    report,
                    competition=item.competition,
                    versions=(*report.versions, item.version),
                    head_hash=item.previous_hash,
                )
                replay = Replay(item, witness=call(item), recall=recall, before=replay)
                report = replace(report, notes=tuple(dict.fromkeys(report.notes + replay.notes)))
                continue
            assert replay is not None  # noqa: S101  (a ledger begins with a header)
            replay.take(item)
            if observer:
                observer.took(replay.header, item, replay)
            report = replace(
                report,
                entries=report.entries + 1,
                recomputed=replay.recomputed,
                lost=replay.lost,
                measured=replay.measured,
                head_hash=str(item["hash"]),
            )
        _end(replay, observer)
    except Differs as differs:
        return replace(report, difference=differs.difference)
    return report


def _end(replay: Replay | None, observer: Observer | None) -> None:
    """End a segment: nothing of its publication may be left."""
    if replay is None:
        return
    if replay.witness is not None:
        replay.witness.check_end()
    if observer:
        observer.ended(replay.header, replay)
