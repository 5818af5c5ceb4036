"""The organizers' pages: Django's admin on a site of our own, one file for each noun or step."""

from leaderboard.admin import competition, release, submission, team, token, user

__all__ = ["competition", "release", "submission", "team", "token", "user"]
