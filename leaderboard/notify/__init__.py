"""What happened, written in the same transaction as the change: feeds and mail are views of it."""
