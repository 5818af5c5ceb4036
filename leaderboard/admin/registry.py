"""What the admin shows, in this order. Imported once, when all models are loaded.

It is not the package itself that registers: the site's class is in the package, and importing it
must not ask for the site before it is there.
"""

from leaderboard.admin import team, submission, release, user, token  # isort: skip

__all__ = ["release", "submission", "team", "token", "user"]
