from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("leaderboard", "0008_rescored"),
    ]

    operations = [
        migrations.AddField(
            model_name="competition",
            name="announced_closes_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
