"""The organizers' console: pages over `leaderboard.organize` and `leaderboard.queries`."""
