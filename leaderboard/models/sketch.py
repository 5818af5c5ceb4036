"""Sketches of prediction files, by which organizers find near-identical ones."""

from django.db import models

from leaderboard.models.submission import Submission


class Sketch(models.Model):
    """A few sums of a parsed file, as float32; they follow from the file and from no label."""

    submission = models.OneToOneField(
        Submission, models.CASCADE, related_name="sketch", primary_key=True
    )
    sums = models.BinaryField()

    def __str__(self) -> str:
        return f"sketch of {self.submission_id}"
