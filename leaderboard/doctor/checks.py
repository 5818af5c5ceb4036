"""All checks, in the order in which they are told."""

from leaderboard.doctor.broker import broker
from leaderboard.doctor.database import database, migrations
from leaderboard.doctor.files import disk, static_files, storage
from leaderboard.doctor.ledgers import ledgers
from leaderboard.doctor.report import Check
from leaderboard.doctor.site import site
from leaderboard.doctor.submissions import submissions
from leaderboard.doctor.vault import holdouts, keys
from leaderboard.doctor.workers import clocks, sweeper, workers

CHECKS: dict[str, Check] = {
    "settings": site,
    "database": database,
    "migrations": migrations,
    "redis": broker,
    "storage": storage,
    "disk": disk,
    "static files": static_files,
    "vault": keys,
    "holdouts": holdouts,
    "ledgers": ledgers,
    "workers": workers,
    "sweeper": sweeper,
    "clocks": clocks,
    "submissions": submissions,
}
