"""Releases: the ledger's answers, as everybody may read them. Nobody changes them."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from leaderboard.admin.scope import CompetitionFilter, ReadOnlyAdmin
from leaderboard.models import Release
from leaderboard.queries import scale
from leaderboard.templatetags.marks import state
from leaderboard.templatetags.text import ago
from scoring.mechanisms import answer_kind, answer_kinds


class OfKind(admin.SimpleListFilter):
    """Narrow the releases to one kind of answers, of any mechanism."""

    title, parameter_name = "answer", "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code, kind.label) for code, kind in answer_kinds().items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any] | None:
        return queryset.filter(kind=self.value()) if self.value() else None


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin[Release]):
    """What was released, to be read."""

    competition_path = "holdout__ledger__competition"
    list_display = (
        *("number", "team", "competition", "answer", "score", "reference", "guarantee_width"),
        *("share_left", "released"),
    )
    list_filter = (CompetitionFilter, OfKind)
    list_select_related = ("holdout__ledger__competition", "board", "team")
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("team__name",)
    ordering = ("-created_at", "-number")
    fields = readonly_fields = (
        *("number", "competition", "team", "submission", "answer", "score", "reference"),
        *("guarantee_width", "width", "tolerance", "asked", "share_left", "question", "repeat"),
        *("predictions_digest", "parameters_hash", "previous_hash", "hash", "created_at"),
    )

    competition = admin.display(
        lambda self, obj: obj.holdout.ledger.competition, description="Competition"
    )
    score = admin.display(lambda self, obj: _score(obj, obj.level), description="Released score")
    reference = admin.display(
        lambda self, obj: _score(obj, obj.reference_level), description="On public rows"
    )
    released = admin.display(
        lambda self, obj: ago(obj.created_at), description="Released", ordering="created_at"
    )
    repeat = admin.display(
        lambda self, obj: obj.repeat_of_id is not None, description="Asked before", boolean=True
    )

    @admin.display(description="Answer", ordering="kind")
    def answer(self, obj: Release) -> SafeString:
        kind = answer_kind(obj.kind)
        return state(kind.mark, kind.word)

    @admin.display(description="Guarantee, as a loss", ordering="certificate")
    def guarantee_width(self, obj: Release) -> str:
        return "none" if obj.certificate is None else f"± {obj.certificate:.3f}"


def _score(entry: Release, level: int | None) -> str:
    if level is None:
        return "none"
    return scale(entry.board).text(level / entry.steps)
