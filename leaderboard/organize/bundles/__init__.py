"""Competitions as bundles: export, import, clone. The format itself is in the package `bundles`."""

from leaderboard.organize.bundles.clones import clone
from leaderboard.organize.bundles.exports import describe, export
from leaderboard.organize.bundles.imports import Plan, import_bundle, import_template, plan_bundle

__all__ = [
    "Plan",
    "clone",
    "describe",
    "export",
    "import_bundle",
    "import_template",
    "plan_bundle",
]
