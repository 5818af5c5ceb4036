from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.template.defaultfilters import pluralize

from leaderboard.errors import Refused
from leaderboard.ledger import rewinds
from leaderboard.ledger.recovery import recover
from leaderboard.ledger.watermark import WatermarkAway
from leaderboard.log.journal import JournalAway
from leaderboard.models import Competition, Round
from leaderboard.pipeline.finalize import losses
from scoring.verification.differences import Differs
from scoring.verification.ledgers import bounded_lines

OWN_COPY = Path()


class Command(BaseCommand):
    """Bring a competition back to its log, and compare its ledger with its watermark.

    After a restored backup, replay a saved copy of the published ledger, or give up the lost
    answers.
    """

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the competition's short name")
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--replay",
            type=Path,
            nargs="?",
            const=OWN_COPY,
            metavar="LEDGER.jsonl",
            help="take the lost answers from a saved copy of the published ledger; without one, "
            "from the copy beside the watermark",
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
            help="with --give-up, where the watermark can't tell: the most that can be lost",
        )

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        if options["lost"] is not None and (options["lost"] < 0 or not options["give_up"]):
            raise CommandError("--lost is a count, and goes with --give-up.")
        competition = Competition.objects.filter(slug=slug).first()
        if competition is None:
            raise CommandError(f"There is no competition {slug!r}.")
        try:
            self._repair(competition.current_round, options)
        except OSError as error:
            raise CommandError(f"{error.filename} can't be read: {error.strerror}.") from None
        except (Refused, Differs, WatermarkAway, JournalAway) as error:
            raise CommandError(str(error)) from None

    def _repair(self, round: Round, options: dict[str, Any]) -> None:
        if recovered := recover(round.competition):
            taken = f"{recovered} entr{pluralize(recovered, 'y,ies')}"
            self.stdout.write(f"Took {taken} of the log that the database lacked.")
            round.refresh_from_db()
        if options["replay"]:
            if options["replay"] == OWN_COPY:
                entries = rewinds.replay(round)
            else:
                with options["replay"].open("rb") as file:
                    entries = rewinds.replay(round, bounded_lines(file))
            self.stdout.write(f"Replayed {entries} entr{pluralize(entries, 'y,ies')}.")
        elif options["give_up"]:
            note = rewinds.give_up(round, lost=options["lost"])
            if note is not None:
                lost = note.document["lost"]
                self.stdout.write(f"Wrote {lost} answer{pluralize(lost)} off: entry {note.number}.")
        elif options["end"]:
            rewinds.end_again(round)
            self.stdout.write("The finals have started again.")
        for loss in losses(round.competition).select_related("team"):
            self.stdout.write(f"Missing since the restore: {loss}.")
        round.refresh_from_db()
        self._show(rewinds.look(round), ended=round.finals_started_at is not None)

    def _show(self, situation: rewinds.Situation, *, ended: bool) -> None:
        self.stdout.write(f"The database is at entry {situation.known}.")
        if situation.written is not None:
            self.stdout.write(f"The watermark is at entry {situation.written}.")
        if not situation.problem:
            finals = "the finals have started, and exact scores may follow"
            self.stdout.write(f"They agree: {finals if ended else 'the ledger answers'}.")
            return
        self.stdout.write(situation.problem)
        if situation.end_undone:
            self.stdout.write("Nothing may be released any more: end it again (--end).")
            return
        self.stdout.write(
            "Nothing is released until this is repaired: replay the ledger (--replay, or with "
            "a saved copy, --replay LEDGER.jsonl), or give up what is lost (--give-up)."
        )
