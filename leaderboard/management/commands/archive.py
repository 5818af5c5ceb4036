from argparse import ArgumentParser
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from leaderboard.errors import Refused
from leaderboard.models import Competition, User
from leaderboard.operate.archives import export_archive, import_archive


class Command(BaseCommand):
    """Write a competition with its submissions and ledger as an archive, or import one.

    An archive that was imported is a copy that answers nobody, unless its secrets came along, which
    a worker then opens. docs/bundles.md tells how a competition moves.
    """

    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        export = actions.add_parser("export", help="write an archive")
        export.add_argument("slug", help="the competition's short name")
        export.add_argument("file", type=Path, help="where the archive is written")
        export.add_argument(
            "--with-people", action="store_true", help="with names and mail addresses of members"
        )
        take = actions.add_parser("import", help="import an archive")
        take.add_argument("file", type=Path, help="the archive")
        take.add_argument("--owner", required=True, help="who runs the competition here")
        take.add_argument("--slug", default="", help="another short name")

    def handle(self, *args: Any, action: str, file: Path, **options: Any) -> None:
        try:
            if action == "export":
                self._export(file, options["slug"], options["with_people"])
            else:
                self._import(file, options["owner"], options["slug"])
        except Refused as refused:
            raise CommandError(str(refused)) from None
        except OSError as error:
            raise CommandError(f"{file}: {error.strerror}") from None

    def _export(self, file: Path, slug: str, with_people: bool) -> None:
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise CommandError(f"There is no competition {slug}.")
        written = export_archive(competition, by=None, with_people=with_people)
        with written, file.open("xb") as out:
            copyfileobj(written, out)
        self.stdout.write(self.style.SUCCESS(f"Written: {file}"))

    def _import(self, file: Path, owner: str, slug: str) -> None:
        person = User.objects.filter(username=owner).first()
        if person is None:
            raise CommandError(f"There is no account called {owner}.")
        with file.open("rb") as opened:
            competition = import_archive(opened, by=person, slug=slug, with_people=True)
        self.stdout.write(self.style.SUCCESS(f"Imported as {competition.slug}."))
