"""The one count of what a holdout has answered: the only code that writes mechanism state."""
