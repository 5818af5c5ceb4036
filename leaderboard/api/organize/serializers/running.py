"""The checklist, submissions, teams, organizers, budget, the end, and what happened."""

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from leaderboard import words
from leaderboard.api.serializers.base import Body, Json, Out
from leaderboard.api.serializers.boards import PublicationItem
from leaderboard.api.serializers.submissions import Problem, Release
from leaderboard.api.serializers.teams import Member
from leaderboard.models import Audience, Event, EventKind, Role, Status, Team
from leaderboard.organize.budgets import MOST
from leaderboard.queries.finals import Stage
from leaderboard.queries.organized import OrganizedSubmission


class CheckItem(Out):
    """What must hold before the opening."""

    name = serializers.CharField()
    title = serializers.CharField()
    passed = serializers.BooleanField()
    detail = serializers.CharField()


class WarningItem(Out):
    """What may go wrong; it holds nothing up."""

    name = serializers.CharField()
    title = serializers.CharField()
    detail = serializers.CharField()


class Checklist(Out):
    """The checklist of the opening, and warnings."""

    is_ready = serializers.BooleanField(help_text="Nothing is missing.")
    checks = CheckItem(many=True)
    warnings = WarningItem(many=True)


class TeamName(Out):
    """A team, by its permanent id and its name."""

    uid = serializers.CharField()
    name = serializers.CharField()


class SubmissionItem(Out):
    """A submission as organizers see it: what was released, nothing else of its score."""

    team = TeamName()
    number = serializers.IntegerField(source="row.number", help_text="Counts within the team.")
    user = serializers.CharField(source="row.user")
    file_name = serializers.CharField(source="row.file_name")
    size = serializers.IntegerField(source="row.size")
    sha256 = serializers.CharField(source="row.sha256")
    status = serializers.ChoiceField(choices=Status.choices, source="row.status")
    summary = serializers.SerializerMethodField(help_text="What its team reads.")
    problems = Problem(many=True, source="row.problems")
    problem_count = serializers.IntegerField(source="row.problem_count")
    failure = serializers.CharField(
        help_text="Of one that failed: stage and type of the error, never a value."
    )
    release = Release(source="row.released", allow_null=True)
    created_at = serializers.DateTimeField(source="row.created_at")
    finished_at = serializers.DateTimeField(source="row.finished_at", allow_null=True)

    def get_summary(self, found: OrganizedSubmission) -> str:
        return words.summary(found.row)


class SubmissionQuery(serializers.Serializer[object]):
    """Which submissions are listed."""

    status = serializers.ChoiceField(choices=Status.choices, required=False, allow_blank=True)
    team = serializers.CharField(
        max_length=32, required=False, allow_blank=True, help_text="A team's `uid`."
    )


class RequeueBody(Body):
    """Which failed submissions are queued again."""

    team = serializers.CharField(
        max_length=32, required=False, help_text="A team's `uid`; all teams if left out."
    )
    number = serializers.IntegerField(
        min_value=1, max_value=10**9, required=False, help_text="One submission of that team."
    )


class Requeued(Out):
    """How many were queued again."""

    requeued = serializers.IntegerField()


class TeamRow(TeamName):
    """A team as organizers see it."""

    captain = serializers.CharField(source="captain.username")
    members = serializers.IntegerField()
    is_baseline = serializers.BooleanField()
    is_verified = serializers.BooleanField()
    created_at = serializers.DateTimeField()


class OrganizedTeam(TeamRow):
    """A team with its people."""

    members = Member(many=True)  # type: ignore[assignment]  # by name, where the list counts


class TeamPatch(Body):
    """What organizers change of a team."""

    name = serializers.CharField(max_length=200, required=False)
    is_verified = serializers.BooleanField(required=False)
    is_baseline = serializers.BooleanField(required=False)


class OrganizerItem(Out):
    """A person who runs the competition."""

    username = serializers.CharField(source="user.username")
    role = serializers.ChoiceField(choices=Role.choices)
    since = serializers.DateTimeField(source="created_at")


class OrganizerBody(Body):
    """A role."""

    role = serializers.ChoiceField(choices=Role.choices)


class BudgetBody(Body):
    """More answers, for all teams or one."""

    amount = serializers.IntegerField(min_value=1, max_value=MOST)
    team = serializers.CharField(
        max_length=32, required=False, help_text="The `uid` of a team, for its share alone."
    )


class BudgetQuery(serializers.Serializer[object]):
    """What is foreseen with the budget."""

    amount = serializers.IntegerField(
        min_value=1,
        max_value=MOST,
        required=False,
        help_text="So many more answers: `half_width_if_used` is what they would come to.",
    )


class BoardCost(Out):
    """What the answers of a board cost."""

    board = serializers.CharField()
    nats = serializers.FloatField(allow_null=True, help_text="Null: by the count alone.")


class Share(Out):
    """What is left of a team's share."""

    team = TeamName()
    releases = serializers.IntegerField()
    left = serializers.IntegerField()


class Budget(Out):
    """What the ledger was asked, what that cost, and what is left."""

    asked = serializers.IntegerField()
    answered = serializers.IntegerField(help_text="Answers that said more than no.")
    budget_left = serializers.IntegerField(allow_null=True, help_text="Null: there is none.")
    releases = serializers.IntegerField()
    head_hash = serializers.CharField()
    teams = serializers.IntegerField(help_text="With a share.")
    costs = BoardCost(many=True)
    shares = Share(many=True, help_text="Those with the least left, a hundred at most.")
    half_width_if_used = serializers.FloatField(
        allow_null=True, help_text="If `amount` more were given; null: no guarantee, or not asked."
    )


class StartBody(Body):
    """How the finals are started."""

    accept_failed = serializers.BooleanField(
        required=False, help_text="True: also where submissions failed; they end without an answer."
    )
    accept_lost = serializers.BooleanField(
        required=False, help_text="True: also without what a restored backup lacks."
    )


class Unmeasured(Out):
    """A submission, and why it has no answer or no measured score."""

    team = TeamName()
    number = serializers.IntegerField()
    failure = serializers.CharField()


class FinalsProgress(Out):
    """How far the end has come."""

    stage = serializers.ChoiceField(choices=[each.value for each in Stage], source="stage.value")
    waiting = serializers.IntegerField(
        source="before.waiting", help_text="Submissions without an answer yet."
    )
    failed = Unmeasured(
        many=True, source="before.failed", help_text="Without an answer, on our side."
    )
    teams = serializers.IntegerField(help_text="With an answer;")
    chose = serializers.IntegerField(help_text="so many of them chose what they enter.")
    entered = serializers.IntegerField(help_text="Submissions that are entered,")
    scored = serializers.IntegerField(help_text="and those with a final score.")
    failures = Unmeasured(many=True, help_text="Entered ones that can't be measured.")
    worst = Unmeasured(many=True, help_text="Those that got the worst score for it.")


class Publications(Out):
    """Whether solution and secret can be published, and what is."""

    refused = serializers.CharField(help_text="What has to happen first; empty: nothing.")
    ordered_at = serializers.DateTimeField(allow_null=True)
    publications = PublicationItem(many=True)


class EventItem(Out):
    """Something that happened."""

    number = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=EventKind.choices)
    title = serializers.CharField(source="get_kind_display")
    audience = serializers.ChoiceField(choices=Audience.choices, help_text="Who else may know.")
    actor = serializers.SerializerMethodField(help_text="Null: the installation itself.")
    subjects = serializers.DictField(help_text="What it is about, by permanent ids and numbers.")
    data = serializers.DictField()  # type: ignore[assignment]  # DRF takes it off the class
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_actor(self, event: Event) -> str | None:
        return event.actor.username if event.actor else None


def team_detail(team: Team, members: object) -> Json:
    """Return what `OrganizedTeam` shows of a team."""
    return vars(team) | {"captain": team.captain, "members": members}
