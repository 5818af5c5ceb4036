"""How moments are written: one folder for each language."""
