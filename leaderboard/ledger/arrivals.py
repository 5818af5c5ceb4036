"""Ledgers that come from another installation: copies first, live once their secrets are here."""

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.utils import timezone

from leaderboard.errors import Refused
from leaderboard.ledger import watermark
from leaderboard.ledger.pauses import resume
from leaderboard.models import Competition, Holdout, Ledger, Pause

READ_ONLY = "It was imported without its secrets: it can be read and verified, and answers nobody."


def check_is_new(uid: str, head: watermark.Head) -> None:
    """Raise Refused where the ledger is here already, or this installation knows more of it."""
    known = Ledger.objects.filter(uid=uid).select_related("competition").first()
    if known is not None:
        title = known.competition.title
        raise Refused("invalid", field="bundle", variant="archive_known", title=title)
    written = watermark.read(uid, only_look=True)
    if written is not None and written != head:
        raise Refused("invalid", field="bundle", variant="archive_behind", ledger=uid)


def keep_as_copies(competition: Competition) -> None:
    """Keep the ledgers of an imported competition from answering, until their secrets come."""
    competition.ledgers.update(
        paused_at=timezone.now(),
        paused_for=Pause.ARCHIVED,
        paused_because=READ_ONLY,
        watermarked=False,
    )


def mark(ledger: Ledger) -> None:
    """Let the watermark know how far an imported ledger is. Raises WatermarkAway.

    Done again, it changes nothing. Before it goes on, a worker does it at the latest: the web
    process may only be able to look.
    """
    head = watermark.Head(ledger.entries, ledger.head_hash)
    if watermark.read(ledger.uid) != head:
        watermark.append(ledger.uid, head)
    if ledger.rounds.filter(finals_started_at__isnull=False).exists():
        watermark.end(ledger.uid)
    Ledger.objects.filter(pk=ledger.pk).update(watermarked=True)


def go_on(competition: Competition, boxes: dict[str, tuple[bytes, bytes]]) -> None:
    """Give the copies their secrets, sealed to this vault, by commitment: they answer from now on.

    Call it in a transaction, under `lock.lock`.
    """
    for holdout in Holdout.objects.filter(ledger__competition=competition):
        solution, secret = boxes[holdout.solution_commitment]
        name = default_storage.save(f"vault/{holdout.solution_commitment}", ContentFile(solution))
        holdout.sealed_solution.name, holdout.sealed_secret = name, secret
        holdout.save(update_fields=["sealed_solution", "sealed_secret"])
    for ledger in competition.ledgers.all():
        mark(ledger)
        resume(ledger, Pause.ARCHIVED)
