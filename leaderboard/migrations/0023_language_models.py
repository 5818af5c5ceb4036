from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce


def count_variants(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Count what each team has asked so far: files that predict something else."""
    release, standing = (apps.get_model("leaderboard", name) for name in ("Release", "Standing"))
    asked = (
        release.objects.filter(board=OuterRef("board"), team=OuterRef("team"))
        .exclude(submission__is_practice=True)
        .order_by()
        .values("team")
        .annotate(files=Count("predictions_digest", distinct=True))
        .values("files")
    )
    standing.objects.update(variants=Coalesce(Subquery(asked), 0))


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0022_campaigns")]

    operations = [
        migrations.AddField("release", "runs", models.PositiveSmallIntegerField(default=1)),
        migrations.AddField("release", "spread", models.FloatField(null=True)),
        migrations.AddField("standing", "variants", models.PositiveIntegerField(default=0)),
        migrations.RunPython(count_variants, migrations.RunPython.noop),
    ]
