"""Who sees what in the admin: organizers what is theirs, operators everything."""

from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.contrib.admin import ModelAdmin, ShowFacets, SimpleListFilter
from django.contrib.admin.options import BaseModelAdmin
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest

from leaderboard.access import Right, may, may_view_console, organized_competitions
from leaderboard.models import Competition
from leaderboard.organize.people import may_organize_at_all

M = TypeVar("M", bound=Model)

if not TYPE_CHECKING:  # these take type parameters in their stubs only
    for generic in (BaseModelAdmin, ModelForm):
        generic.__class_getitem__ = classmethod(lambda cls, item: cls)


def never(self: Any, request: HttpRequest, obj: Any = None) -> bool:
    """Allow nobody: a permission of an admin class."""
    return False


class OwnedAdmin(ModelAdmin[M]):
    """An organizer sees what belongs to its competitions, and may change what subclasses allow.

    `competition_path` leads from the model to the competition. Nothing is added or deleted unless
    a subclass says so.
    """

    competition_path: ClassVar[str]
    show_facets = ShowFacets.NEVER

    def competition_of(self, obj: M) -> Competition:
        found: Any = obj
        for name in self.competition_path.split("__"):
            found = getattr(found, name)
        assert isinstance(found, Competition)  # noqa: S101  (for the type checker)
        return found

    def is_mine(self, request: HttpRequest, obj: M | None, *, to_change: bool = True) -> bool:
        """Return whether the person has the role and, for an object, runs its competition."""
        if not may_organize_at_all(request.user):
            return False
        if obj is None:
            return True
        competition = self.competition_of(obj)
        if to_change:
            return may(request.user, competition, Right.JUDGE)
        return may_view_console(request.user, competition)

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        own = organized_competitions(request.user)
        return super().get_queryset(request).filter(**{f"{self.competition_path}__in": own})

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_organize_at_all(request.user)

    def has_view_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return self.is_mine(request, obj, to_change=False)

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return self.is_mine(request, obj)

    has_add_permission = has_delete_permission = never

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Let lists be narrowed by their filters and by nothing else."""
        return any(
            lookup == name or lookup.startswith(f"{name}__")
            for each in self.get_list_filter(request)
            for name in [str(getattr(each, "parameter_name", each))]
        )


class ReadOnlyAdmin(OwnedAdmin[M]):
    """What nobody changes by hand."""

    has_change_permission = never


class OperatorOnly:
    """A mix-in: operators and nobody else, whatever permissions were given.

    To others the objects don't exist, so that no answer tells which ones there are.
    """

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)  # type: ignore[misc]  # of ModelAdmin
        return rows if self.has_view_permission(request) else rows.none()

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    has_module_permission = has_add_permission = has_view_permission
    has_change_permission = has_delete_permission = has_view_permission


class CompetitionFilter(SimpleListFilter):
    """Narrows a list to one of the person's own competitions; it doesn't name the others."""

    title = "competition"
    parameter_name = "competition"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        self.path = f"{model_admin.competition_path}__slug"
        return list(organized_competitions(request.user).values_list("slug", "title"))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.path: self.value()}) if self.value() else queryset
