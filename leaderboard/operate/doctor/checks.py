"""All checks, in the order in which they are told."""

from leaderboard.operate.doctor.broker import broker
from leaderboard.operate.doctor.database import database, migrations
from leaderboard.operate.doctor.files import disk, static_files, storage
from leaderboard.operate.doctor.ledgers import ledgers
from leaderboard.operate.doctor.report import Check
from leaderboard.operate.doctor.site import site
from leaderboard.operate.doctor.submissions import submissions
from leaderboard.operate.doctor.vault import holdouts, keys
from leaderboard.operate.doctor.workers import clocks, sweeper, workers

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
