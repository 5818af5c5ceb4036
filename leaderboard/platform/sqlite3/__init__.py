"""SQLite as Django has it, but that no connection outlives the file that it opened."""
