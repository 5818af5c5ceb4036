"""The stages of a submission's one way through: intake, parse, measure, release.

No stage imports another; `leaderboard.tasks` knows their order.
"""
