"""A mechanism is one file: this one registers its own, and the server plays it as any other."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import call_command
from django.http.response import HttpResponseBase
from django.test import Client
from django.utils import timezone

from leaderboard import queries
from leaderboard.api.serializers.base import AnswerCode
from leaderboard.models import Competition, Release, Standing, Submission
from leaderboard.organize.revisions import revise_solution
from leaderboard.pipeline import publish
from leaderboard.tasks import publish_holdout, score_submission
from scoring.errors import ParameterError
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import registered
from scoring.mechanisms.base import (
    Advice,
    Answer,
    AnswerKind,
    HoldoutState,
    Mechanism,
    State,
    Unit,
)
from scoring.mechanisms.books import (
    VACUOUS,
    count_question,
    grid_level,
    is_exhausted,
    question_width,
    show_level,
    spend,
)
from scoring.mechanisms.fitness import check_has_rows
from scoring.mechanisms.needs import MetricFacts, RowCounts
from scoring.noise import Noise, SteadyNoise
from scoring.parameters import Parameter, parse_all
from tests.cast import (
    World,
    make_competition,
    make_draft,
    predictions,
    set_round,
    solution,
    upload,
)

BETA = Fraction(1, 20)
SEEN = AnswerKind(
    code="seen",
    label="Seen through the keyhole",
    word="seen",
    mark="improved",
    sentences=("Through the keyhole: {score}, {within}.", "{left} left.", "You claimed {claimed}."),
    says_more=True,
    shows="own",
    bounds="both",
)
SHUT = AnswerKind(
    code="shut",
    label="The door is shut",
    word="shut out",
    mark="fail",
    sentences=("The door is shut.", "Outside it looks like {public}."),
    says_more=False,
    shows="earlier",
    bounds="nothing",
)


@dataclass(frozen=True)
class PeekParams:
    """How often each team may look, and at how fine a grid."""

    peeks: int
    steps: int
    manner: str

    @property
    def alphabet(self) -> int:
        """All levels of the grid."""
        return self.steps + 1


class Peek(Mechanism[PeekParams]):
    """Shows each team its rounded losses a few times, and nothing more after that."""

    name = "peek"
    title = "Keyhole"
    description = "Each team may look through the keyhole a few times."
    explanation = "The door has a keyhole.\n\nBehind it are the rows."
    advice = Advice(fits="Doors.", protects="Most of the room.", costs="A stiff neck.")
    kinds = (SEEN, SHUT)
    metric_kinds = frozenset({"mean"})
    unit = Unit("{count} peek", "{count} peeks")
    parameters = (
        Parameter("peeks", "Peeks", "How often a team may look.", "integer", 2, minimum=1),
        Parameter("steps", "Steps", "Steps of the grid.", "integer", 10, minimum=1),
        Parameter(
            "manner",
            "Manner",
            "How it is done.",
            "choice",
            "crouching",
            choices=("crouching", "kneeling"),
            choice_titles=("On both feet", "On both knees"),
        ),
    )

    def parse(self, raw: Mapping[str, object]) -> PeekParams:
        return PeekParams(**parse_all(self.parameters, raw))  # type: ignore[arg-type]  # kinds are those of the parameters

    def check(self, params: PeekParams, metric: MetricFacts, counts: RowCounts) -> None:
        check_has_rows(counts)
        if metric.kind not in (self.metric_kinds or {metric.kind}):
            raise ParameterError("mechanism", "Only means can be seen through a keyhole.")

    def initial_holdout(self, params: PeekParams) -> HoldoutState:
        return HoldoutState(budget_left=100 * params.peeks)

    def question(self, params: PeekParams, state: State, reference: Mean | None = None) -> str:
        return f"peek {'no' if is_exhausted(state) else 'yes'}"

    def step(
        self, params: PeekParams, state: State, measurement: Measurement, noise: Noise
    ) -> tuple[State, Answer]:
        mean = measurement.holdout
        width = question_width(state.holdout, mean, BETA)
        sees = not is_exhausted(state)
        holdout = count_question(state.holdout, yes=sees, alphabet=params.alphabet)
        after = State(holdout, state.team)
        if sees:
            after = spend(after, params.peeks)
            after = State(after.holdout, show_level(after.team, mean.level(params.steps)))
        answer = Answer(
            kind=(SEEN if sees else SHUT).code,
            level=after.team.last,
            reference_level=grid_level(measurement.reference, params.steps),
            steps=params.steps,
            width=width,
            tolerance=0.5 / params.steps if sees else VACUOUS,
            asked=holdout.asked,
        )
        return after, answer

    def account_for(
        self, params: PeekParams, kind: str, loss: Fraction | None, whole: int
    ) -> tuple[int, SteadyNoise]:
        return math.floor((loss or 0) * whole + Fraction(1, 2)), SteadyNoise()


@pytest.fixture(autouse=True)
def peek() -> Iterator[None]:
    with registered(Peek()):
        yield


@pytest.fixture
def door(world: World) -> Competition:
    """A competition set up and opened with the mechanism, in which a team has looked thrice."""
    competition = make_competition(
        "door",
        world.organizer,
        rows=400,
        public=80,
        mechanism="peek",
        mechanism_parameters={"peeks": "2", "manner": "kneeling"},
    )
    team = world.join(world.alice, competition=competition)
    for wrong in (range(240), range(112), range(80)):
        world.score(team, predictions(wrong=wrong, rows=400))
    return competition


@pytest.fixture
def alice(world: World, client: Client) -> Client:
    client.force_login(world.alice)
    return client


def page(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    assert isinstance(response, HttpResponseBase)
    return response.getvalue().decode()


def test_its_answers_are_released_as_it_gives_them(door: Competition) -> None:
    assert list(Release.objects.values_list("kind", "level", "share_left")) == [
        ("seen", 5, 1),
        ("seen", 1, 0),
        ("shut", 1, 0),
    ]
    seen, _, shut = Release.objects.all()
    assert seen.low is not None
    assert seen.high is not None
    assert seen.low < 0.5 < seen.high
    assert (shut.certificate, shut.low, shut.high) == (None, None, None)
    standing = Standing.objects.get(board=door.current_round.board)
    assert (standing.loss, standing.entries, standing.last.kind) == (0.1, 3, "shut")


def test_the_pages_show_its_own_words(door: Competition, alice: Client) -> None:
    first = page(alice, "/c/door/submissions/1/")
    assert '<p class="title">Seen through the keyhole</p>' in first
    assert "Through the keyhole: 0.5, within 0." in first
    assert "1 peek left." in first
    assert "claimed" not in first
    assert "0 peeks left." in page(alice, "/c/door/submissions/2/")
    last = page(alice, "/c/door/submissions/3/")
    assert "The door is shut. Outside it looks like 0.0." in last
    assert "answer-card notice state-fail" in last
    assert "state-improved" in page(alice, "/c/door/submissions/")
    board = page(alice, "/c/door/leaderboard/")
    assert "The door is shut" in board
    assert "Keyhole" in board
    assert "Seen through the keyhole" in page(alice, "/c/door/ledger/")
    assert page(alice, "/c/door/leaderboard.csv").count(",shut,") == 1
    steps = queries.leading_steps(door.current_round.board)
    assert [step.score for step in steps] == ["0.5", "0.9"]
    how = page(alice, "/how-it-works/")
    assert '<h2 id="peek">Keyhole</h2>' in how
    assert "<p>Behind it are the rows.</p>" in how


def test_the_api_names_its_kinds(door: Competition, alice: Client) -> None:
    api = "/api/v1/competitions/door"
    (row,) = alice.get(f"{api}/leaderboard/").json()["results"]
    assert (row["last_answer"], row["score"]) == ("shut", 0.9)
    release = alice.get(f"{api}/submissions/1/").json()
    assert release["release"]["kind"] == "seen"
    assert release["summary"].startswith("Through the keyhole: 0.5, within 0.")
    ledger = alice.get(f"{api}/ledger/").json()["results"]
    assert [entry["kind"] for entry in ledger] == ["shut", "seen", "seen"]
    assert "`seen`, `shut`" in str(AnswerCode().help_text)


def test_organizers_read_its_advice_and_its_answers(
    door: Competition, world: World, client: Client
) -> None:
    draft = make_draft("draft", world.organizer, rows=40)
    client.force_login(world.organizer)
    form = page(client, f"/admin/leaderboard/competition/{draft.pk}/scoring/")
    for text in ("Keyhole", "A stiff neck.", '<option value="kneeling">On both knees</option>'):
        assert text in form
    assert "Thresholdout and Keyhole can&#x27;t show this metric" in form
    assert "shut out" in page(client, "/admin/leaderboard/release/")
    assert "shut out" not in page(client, "/admin/leaderboard/release/?kind=seen")


def test_its_ledger_is_verified_before_and_after_the_publication(
    door: Competition, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "3 answers were computed again from the vault" in verify()
    now = timezone.now()
    ended = set_round(
        door, closes_at=now, finals_started_at=now, finals_scored_at=now, revealed_at=now
    )
    monkeypatch.setattr(publish, "enqueue_publication", lambda holdout_id: None)
    publish.publish(ended)
    for holdout in publish.to_publish():
        publish_holdout(holdout_id=holdout.pk)
    monkeypatch.setattr(settings, "VAULT_PRIVATE_KEY_FILE", "")
    assert "3 answers were computed again from what was published" in verify()


def test_an_answer_that_says_nothing_keeps_the_score_on_the_earlier_solution(
    door: Competition, world: World
) -> None:
    revised = solution(400, 80).replace(b"r399,3,", b"r399,0,")
    revise_solution(
        door.current_round,
        upload(revised, "solution.csv"),
        by=world.organizer,
        reason="One label was wrong.",
        rescore="all",
    )
    for submission in Submission.objects.filter(team__competition=door):
        score_submission(submission_id=submission.pk)
    assert Release.objects.filter(holdout__version=2).values_list("kind", flat=True)[0] == "shut"
    standing = Standing.objects.get(board=door.current_round.board)
    assert (standing.loss, standing.last.kind) == (0.1, "shut")
    assert "Verified." in verify()


def verify() -> str:
    out = StringIO()
    call_command("verify", "door", stdout=out)
    assert "Verified." in out.getvalue()
    return out.getvalue()
