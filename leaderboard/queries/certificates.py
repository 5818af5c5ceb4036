"""The certificate beside a score, from released values only."""

import math

from leaderboard.models import Holdout, Kind, Release
from leaderboard.queries.scales import Interval, Scale
from scoring import metrics
from scoring.guarantees.certificate import certify

# Only these say something of the file they answer; the others repeat an earlier score.
SPEAKING = (Kind.IMPROVED, Kind.CONFIRMED, Kind.CORRECTED)


def certificate_interval(
    reads: Scale, holdout: Holdout | None, entry: Release | None
) -> Interval | None:
    """The certified interval of a released score by the KL bound; None: no certificate."""
    if holdout is None or entry is None or entry.kind not in SPEAKING:
        return None
    rows = holdout.effective_private_rows
    rounding = metrics.get(reads.metric).rounding(weighted=rows < holdout.private_rows)
    certificate = certify(entry, rows, rounding=rounding)
    if certificate is None:
        return None
    return reads.interval(certificate.low, certificate.high)


def reach(certificate: Interval, value: float) -> str:
    """How far the certificate reaches from the score, with two digits, rounded up."""
    distance = max(value - certificate.low, certificate.high - value)
    if distance <= 0:
        return "0"
    decimals = 1 - math.floor(math.log10(distance))
    up = math.ceil(distance * 10**decimals - 1e-9) / 10**decimals
    return f"{up:.{max(0, decimals)}f}"
