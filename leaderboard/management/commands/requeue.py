from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.models import Competition, Submission
from leaderboard.pipeline.queue import requeue_failed


class Command(BaseCommand):
    """Queue failed submissions again, of one competition or of all, once their cause is fixed."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", nargs="?", help="of this competition only")

    def handle(self, *args: Any, slug: str | None, **options: Any) -> None:
        failed = Submission.objects.all()
        if slug is not None:
            if not Competition.objects.filter(slug=slug).exists():
                raise CommandError(f"There is no competition {slug!r}.")
            failed = failed.filter(team__competition__slug=slug)
        self.stdout.write(f"{requeue_failed(failed)} failed submissions are queued again.")
