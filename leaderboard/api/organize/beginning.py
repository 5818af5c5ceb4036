"""A draft from files, and trials in a draft."""

from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard import access
from leaderboard.api.base import person
from leaderboard.api.organize.base import (
    CHANGES,
    READS,
    TAGS,
    FileView,
    OrganizeView,
    SecretFileView,
    mine,
)
from leaderboard.api.organize.data import FIXED, UPLOADS, scoring_of
from leaderboard.api.organize.serializers.beginning import (
    FromFiles,
    FromFilesBody,
    TrialBody,
    TrialItem,
)
from leaderboard.api.organize.serializers.competitions import organized
from leaderboard.api.organize.serializers.more import PlanBody, PlannedBoards
from leaderboard.api.paging import Page, PageQuery
from leaderboard.api.schema import cli, pages_of, responses
from leaderboard.api.serializers.base import Json
from leaderboard.models import FileRole, QuickSetup, Round, Trial
from leaderboard.organize import trials
from leaderboard.organize.plan import plan_boards, use_board
from leaderboard.organize.quick import create_from_files
from leaderboard.queries.trials import list_trials, trial_row

_ROLES = (FileRole.TRAIN, FileRole.TEST, "solution", FileRole.SAMPLE)


class FromFilesView(SecretFileView):
    @extend_schema(
        operation_id="create_from_files",
        extensions=cli("holdfast organize create FOLDER --slug digits"),
        tags=TAGS,
        summary="Make a complete draft from files",
        description=(
            "Columns, metric, mechanism, split and texts are proposed, each with its reason. All "
            "of it or nothing. The files stay in memory, so together they may be as large as one "
            "upload."
        ),
        request={"multipart/form-data": FromFilesBody},
        responses=responses({201: FromFiles}, *CHANGES, *UPLOADS),
    )
    def post(self, request: Request) -> Response:
        body, user = FromFilesBody.read(request), person(request)
        files = {str(role): body.pop(role) for role in _ROLES if role in body}
        made = create_from_files(by=user, files=files, **body)
        round = made.current_round
        facts = {
            **organized(made, user),
            "setup": QuickSetup.objects.get(round=round).facts,
            "scoring": scoring_of(round.board),
        }
        return Response(FromFiles(facts).data, status=status.HTTP_201_CREATED)


class TrialsView(FileView):
    @extend_schema(
        operation_id="trials",
        tags=TAGS,
        summary="List what was tried in a draft",
        description=(
            "For owners and editors; the newest first. The best constant prediction and the sample "
            "are tried by themselves. None are left once it opens."
        ),
        parameters=[PageQuery],
        responses=responses({200: pages_of(TrialItem, "Trial")}, "invalid", *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        page, round = Page.of(request), _round(request, slug)
        found = list_trials(round, trials.basis_of(round))
        return page.answer(TrialItem, found[page.part], len(found))

    @extend_schema(
        operation_id="try_file",
        extensions=cli("holdfast organize try digits predictions.csv"),
        tags=TAGS,
        summary="Try a prediction file in a draft",
        description=(
            "It goes the whole way, on a scratch ledger that is thrown away at the opening. A "
            "worker answers soon: ask at the address in the Location header until `is_final`."
        ),
        request={"multipart/form-data": TrialBody},
        responses=responses({201: TrialItem}, *CHANGES, *UPLOADS, *FIXED, "file_empty"),
    )
    def post(self, request: Request, slug: str) -> Response:
        round, body = _round(request, slug), TrialBody.read(request)
        made = trials.try_file(
            round,
            body["file"],
            by=person(request),
            title=body.get("title", ""),
            claimed=body.get("claimed_score"),
        )
        where = reverse("api-organize-trial", args=(slug, made.pk))
        return Response(
            _item(made),
            status=status.HTTP_201_CREATED,
            headers={"Location": request.build_absolute_uri(where)},
        )


class TrialView(OrganizeView):
    @extend_schema(
        operation_id="trial",
        tags=TAGS,
        summary="See a trial",
        description="How far it is, what each board said, or what is wrong with the file.",
        responses=responses({200: TrialItem}, *READS),
    )
    def get(self, request: Request, slug: str, trial_id: int) -> Response:
        return Response(_item(_trial(request, slug, trial_id)))

    @extend_schema(
        operation_id="remove_trial",
        tags=TAGS,
        summary="Forget a trial",
        description="What the scratch ledger knows of it stays there.",
        responses=responses({204: None}, *CHANGES, *FIXED),
    )
    def delete(self, request: Request, slug: str, trial_id: int) -> Response:
        trials.remove_trial(_trial(request, slug, trial_id), by=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class PlanView(OrganizeView):
    @extend_schema(
        operation_id="planned_boards",
        extensions=cli("holdfast organize boards digits"),
        tags=TAGS,
        summary="Compare the boards that may be chosen",
        description="By a short rehearsal, which takes a second or two.",
        responses=responses({200: PlannedBoards}, *READS),
    )
    def get(self, request: Request, slug: str) -> Response:
        return _planned(mine(request, slug).current_round)

    @extend_schema(
        operation_id="use_board",
        extensions=cli("holdfast organize boards digits --use guard"),
        tags=TAGS,
        summary="Use one of them",
        description="With the parameters that were compared, in a draft.",
        request=PlanBody,
        responses=responses({200: PlannedBoards}, *CHANGES, *FIXED),
    )
    def post(self, request: Request, slug: str) -> Response:
        round, body = mine(request, slug).current_round, PlanBody.read(request)
        use_board(round, body["mechanism"], by=person(request))
        return _planned(mine(request, slug).current_round)


def _planned(round: Round) -> Response:
    plan = plan_boards(round)
    return Response(PlannedBoards({"boards": plan.cards if plan else ()}).data)


def _round(request: Request, slug: str) -> Round:
    """Return the round whose trials the person may see."""
    round = mine(request, slug).current_round
    trials.check_sees_trials(round, person(request))
    return round


def _trial(request: Request, slug: str, trial_id: int) -> Trial:
    return access.trial_or_404(_round(request, slug).competition, trial_id)


def _item(trial: Trial) -> Json:
    round = trial.round
    row = trial_row(trial, list(round.boards.all()), trials.basis_of(round))
    return dict(TrialItem(row).data)
