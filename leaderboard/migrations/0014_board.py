"""Take baselines out of the ranks, and keep what boards show beside a score.

Boards whose final places are revealed stay as they were.
"""

from itertools import groupby
from operator import itemgetter

import django.db.models.deletion
from django.db import migrations, models

SHOWN_OWN = ("confirmed", "corrected", "improved")  # what showed a score of the team's own file
PART = 2000  # as in leaderboard.ledger.levels


def unrank_baselines(apps, schema_editor):
    Standing = apps.get_model("leaderboard", "Standing")
    LevelCount = apps.get_model("leaderboard", "LevelCount")
    ranked = Standing.objects.filter(
        team__is_baseline=True, is_ranked=True, board__round__revealed_at=None
    )
    boards = set(ranked.values_list("board", flat=True))
    ranked.update(is_ranked=False)
    for board in sorted(boards):
        LevelCount.objects.filter(board=board).delete()
        counts, latest = [], None
        rows = Standing.objects.filter(board=board, is_ranked=True)
        order = models.F("loss").asc(nulls_last=True), "reached_at", "id"
        for loss, at in rows.order_by(*order).values_list("loss", "reached_at").iterator():
            is_full = counts and counts[-1].teams >= PART and at != latest
            if not counts or counts[-1].loss != loss or is_full:
                counts.append(LevelCount(board_id=board, loss=loss, since=at, teams=0))
            counts[-1].teams += 1
            latest = at
        LevelCount.objects.bulk_create(counts, batch_size=500)


def keep_ends(apps, schema_editor):
    Standing = apps.get_model("leaderboard", "Standing")
    Release = apps.get_model("leaderboard", "Release")
    low = Release.objects.filter(pk=models.OuterRef("best")).values("low")
    Standing.objects.filter(best__isnull=False).update(low=models.Subquery(low))


def draw_curves(apps, schema_editor):
    Standing = apps.get_model("leaderboard", "Standing")
    Release = apps.get_model("leaderboard", "Release")
    for board in set(Standing.objects.values_list("board", flat=True)):
        rows = {row.team_id: row for row in Standing.objects.filter(board=board).iterator()}
        entries = Release.objects.filter(
            board=board,
            holdout__retired_at=None,
            kind__in=SHOWN_OWN,
            level__isnull=False,
            submission__is_practice=False,
        ).exclude(submission__sanctions__lifted_at=None, submission__sanctions__isnull=False)
        fields = "submission__team", "submission__created_at", "level", "steps"
        by_team = entries.order_by("submission__team", "number").values_list(*fields)
        for team, said in groupby(by_team.iterator(), key=itemgetter(0)):
            row = rows.get(team)
            if row is None or row.loss is None:
                continue
            curve = []
            for _, at, level, steps in said:
                loss = level / steps
                if loss >= row.loss and (not curve or loss < curve[-1][1]):
                    curve.append([int(at.timestamp()), loss])
            row.curve = curve[:1] + curve[1:][-59:]
        for row in rows.values():
            if row.loss is not None and (not row.curve or row.curve[-1][1] != row.loss):
                row.curve.append([int(row.reached_at.timestamp()), row.loss])
        Standing.objects.bulk_update(rows.values(), ["curve"], batch_size=500)


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboard", "0013_account"),
    ]

    operations = [
        migrations.CreateModel(
            name="DayStart",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("day", models.DateField()),
                ("counts", models.JSONField(default=list)),
            ],
        ),
        migrations.AddField(
            model_name="standing",
            name="curve",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="standing",
            name="low",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="standing",
            name="moved_on",
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name="standing",
            name="place_before",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="finalscore",
            index=models.Index(fields=["board", "released_place"], name="final_released_places"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(fields=["board", "low"], name="board_ends"),
        ),
        migrations.AddIndex(
            model_name="standing",
            index=models.Index(
                condition=models.Q(("is_ranked", False)), fields=["board"], name="board_unranked"
            ),
        ),
        migrations.RemoveIndex(model_name="team", name="teams_in_play"),
        migrations.AddIndex(
            model_name="team",
            index=models.Index(
                fields=["competition", "merged_into", "is_baseline"], name="teams_that_count"
            ),
        ),
        migrations.AddField(
            model_name="daystart",
            name="board",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="day_start",
                to="leaderboard.board",
            ),
        ),
        migrations.RunPython(unrank_baselines, migrations.RunPython.noop),
        migrations.RunPython(keep_ends, migrations.RunPython.noop),
        migrations.RunPython(draw_curves, migrations.RunPython.noop),
    ]
