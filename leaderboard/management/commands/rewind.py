"""Mends a ledger whose database was restored from a backup."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from leaderboard.errors import Refused
from leaderboard.ledger import rewinds
from leaderboard.ledger.watermark import GuardAway
from leaderboard.models import Competition
from scoring.verification import Differs, bounded_lines


class Command(BaseCommand):
    help = (
        "Compare a competition's ledger with the rewind guard. After a restored backup, replay a "
        "saved copy of the published ledger, or give the lost answers up."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the competition's short name")
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--replay",
            type=Path,
            metavar="LEDGER.jsonl",
            help="take the lost answers from a saved copy of the published ledger",
        )
        how.add_argument(
            "--give-up",
            action="store_true",
            help="write the lost answers off: each is counted as if it had said the most it could",
        )
        how.add_argument(
            "--end",
            action="store_true",
            help="start the finals again that the database has forgotten",
        )
        parser.add_argument(
            "--lost",
            type=int,
            metavar="N",
            help="with --give-up, where the guard can't tell: how many answers are lost at most",
        )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        if options["lost"] is not None and (options["lost"] < 0 or not options["give_up"]):
            raise CommandError("--lost is a count, and goes with --give-up.")
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise CommandError(f"There is no competition {slug!r}.")
        try:
            self._mend(competition, options)
        except (Refused, Differs, GuardAway) as error:
            raise CommandError(str(error)) from None

    def _mend(self, competition: Competition, options: dict[str, Any]) -> None:
        if options["replay"]:
            with _opened(options["replay"]) as file:
                entries = rewinds.replay(competition, bounded_lines(file))
            noun = "entry" if entries == 1 else "entries"
            self.stdout.write(f"Replayed {entries} {noun}.")
        elif options["give_up"]:
            note = rewinds.give_up(competition, lost=options["lost"])
            if note is not None:
                self.stdout.write(
                    f"Wrote {_answers(note.document['lost'])} off: entry {note.number}."
                )
        elif options["end"]:
            rewinds.end_again(competition)
            self.stdout.write("The finals have started again, with the choices of the backup.")
        competition.refresh_from_db()
        self._show(rewinds.look(competition), ended=competition.finals_started_at is not None)

    def _show(self, situation: rewinds.Situation, *, ended: bool) -> None:
        self.stdout.write(f"The database is at entry {situation.known}.")
        if situation.written is not None:
            self.stdout.write(f"The guard is at entry {situation.written}.")
        if not situation.problem:
            then = (
                "the finals have started, and exact scores may follow"
                if ended
                else "the holdout answers"
            )
            self.stdout.write(f"They agree: {then}.")
            return
        self.stdout.write(situation.problem)
        if situation.end_undone:
            self.stdout.write("Nothing may be released any more: end it again (--end).")
            return
        self.stdout.write(
            "Nothing is released until this is mended: replay a saved copy of the published "
            "ledger (--replay LEDGER.jsonl), or give up what is lost (--give-up)."
        )


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"


def _opened(path: Path) -> Any:
    try:
        return path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} can't be read: {error.strerror}.") from None
