"""Give releases the number that they were published with, and merged teams' files to their heirs."""

from typing import Any

from django.db import migrations, models
from django.db.models import F, Max, OuterRef, Subquery


def carry_numbers_over(apps: Any, schema_editor: Any) -> None:
    """Note the published numbers, then number merged teams' submissions as a merger does now."""
    submission = apps.get_model("leaderboard", "Submission")
    number = submission.objects.filter(pk=OuterRef("submission")).values("number")
    releases = apps.get_model("leaderboard", "Release").objects.order_by()
    releases.update(submission_number=Subquery(number))
    teams = apps.get_model("leaderboard", "Team").objects.order_by("pk")
    for team in teams.filter(merged_into__isnull=False):
        into = submission.objects.filter(team=team.merged_into_id)
        last = into.aggregate(last=Max("number"))["last"] or 0
        submission.objects.filter(team=team.pk).update(
            team=team.merged_into_id, number=F("number") + last
        )


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="release",
            name="submission_number",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunPython(carry_numbers_over, migrations.RunPython.noop),
    ]
