"""What organizers send and get, by theme."""
