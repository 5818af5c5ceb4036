"""Releases: the ledger's entries, as everybody may read them. Nobody changes them."""

from __future__ import annotations

from django.contrib import admin
from django.utils.safestring import SafeString

from leaderboard.admin.scope import CompetitionFilter, ReadOnlyAdmin
from leaderboard.models import Competition, Kind, Release
from leaderboard.queries import scale
from leaderboard.templatetags.marks import state
from leaderboard.templatetags.text import ago
from leaderboard.words import KIND_WORDS


class OfCompetition(CompetitionFilter):
    path = "holdout__competition"


@admin.register(Release)
class ReleaseAdmin(ReadOnlyAdmin[Release]):
    competition_path = "holdout__competition"
    list_display = (
        *("number", "team", "competition", "answer", "score", "reference", "certificate_width"),
        *("share_left", "released"),
    )
    list_filter = (OfCompetition, "kind")
    list_select_related = ("holdout__competition", "team")
    list_per_page = 50
    show_full_result_count = False
    search_fields = ("team__name",)
    ordering = ("-created_at", "-number")
    fields = readonly_fields = (
        *("number", "competition", "team", "submission", "answer", "score", "reference"),
        *("certificate_width", "width", "tolerance", "asked", "share_left", "question", "repeat"),
        *("predictions_digest", "parameters_hash", "previous_hash", "hash", "created_at"),
    )

    @admin.display(description="Competition")
    def competition(self, obj: Release) -> Competition:
        return obj.holdout.competition

    @admin.display(description="Answer", ordering="kind")
    def answer(self, obj: Release) -> SafeString:
        return state(obj.kind, KIND_WORDS[Kind(obj.kind)])

    @admin.display(description="Released score")
    def score(self, obj: Release) -> str:
        return _score(obj, obj.level)

    @admin.display(description="On public rows")
    def reference(self, obj: Release) -> str:
        return _score(obj, obj.reference_level)

    @admin.display(description="Certificate, as a loss", ordering="certificate")
    def certificate_width(self, obj: Release) -> str:
        return "none" if obj.certificate is None else f"± {obj.certificate:.3f}"

    @admin.display(description="Released", ordering="created_at")
    def released(self, obj: Release) -> SafeString:
        return ago(obj.created_at)

    @admin.display(description="Asked before", boolean=True)
    def repeat(self, obj: Release) -> bool:
        return obj.repeat_of_id is not None


def _score(entry: Release, level: int | None) -> str:
    if level is None:
        return "none"
    return scale(entry.holdout.competition).text(level / entry.steps)
