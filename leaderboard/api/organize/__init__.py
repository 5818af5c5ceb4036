"""What organizers do, below `/api/v1/organize/`: the functions that the console calls, as JSON."""
