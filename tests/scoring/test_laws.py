"""Laws that hold for every registered mechanism, whatever is submitted by whom."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.errors import ParameterError, StateError
from scoring.laws.books import BoardBook, TeamBook, charge
from scoring.laws.laws import Law, LawState, Question
from scoring.measurement import Mean, Measurement
from scoring.mechanisms import MECHANISMS, REFUSED, answer_kind, get, register, registered
from scoring.mechanisms.base import (
    Answer,
    HoldoutState,
    Mechanism,
    Reference,
    State,
    TeamState,
)
from scoring.mechanisms.kinds import AnswerKind
from scoring.mechanisms.needs import Need
from scoring.noise import KeyedNoise, Noise
from tests.scoring.facts import Counts, Metric
from tests.scoring.keyhole import Peek

SECRET = bytes(range(32))
ALL: dict[str, Mechanism[Any]] = MECHANISMS | {"peek": Peek()}
SETTINGS: dict[str, tuple[dict[str, str], ...]] = {
    "ladder": (
        {"steps": "10"},
        {"steps": "2", "confidence": "0.5"},
        {"steps": "10", "rung": "6"},
    ),
    "guard": (
        {"errors": "4", "budget": "3", "team_share": "2", "steps": "10"},
        {"errors": "2", "steps": "40"},
        {"threshold": "0.1", "reference": "claim", "budget": "2", "team_share": "1"},
    ),
    "thresholdout": (
        {
            "threshold": "0.1",
            "noise_scale": "0.005",
            "budget": "5",
            "team_share": "2",
            "steps": "10",
        },
        {"threshold": "0.5", "noise_scale": "0.025", "budget": "1", "team_share": "1"},
        {"threshold": "0.1", "noise_scale": "0.0025", "form": "science", "team_share": "3"},
        {"threshold": "0.1", "noise_scale": "0.01", "form": "zhao", "steps": "40"},
        {"threshold": "0.2", "noise_scale": "0.01", "reference": "claim", "steps": "20"},
    ),
    "sparse_validate": (
        {"mark": "0.5", "questions": "6", "budget": "3", "team_share": "1"},
        {"mark": "0", "budget": "9", "team_share": "4"},
    ),
    "peek": ({}, {"steps": "7", "peeks": "1"}),
}


@dataclass(frozen=True)
class Submission:
    """The holdout and reference units of a submission by one of three teams."""

    team: int
    holdout: int
    reference: int


@dataclass(frozen=True)
class Board:
    """A mechanism with its parameters and the sizes of a holdout."""

    mechanism: Mechanism[Any]
    params: Any
    rows: int
    resolution: int

    def says_more(self, answer: Answer) -> bool:
        return self.mechanism.kind(answer.kind).says_more

    @property
    def whole(self) -> int:
        return self.rows * self.resolution

    def measure(self, submission: Submission) -> Measurement:
        return Measurement(
            *(
                Mean(min(units, self.whole), self.rows, self.resolution)
                for units in (submission.holdout, submission.reference)
            )
        )

    def noise(self, submission: Submission, state: State) -> Noise:
        digest = f"{submission.holdout} {submission.reference}"
        reference = self.measure(submission).reference
        question = self.mechanism.question(self.params, state, reference)
        return KeyedNoise(SECRET, "holdout").for_question(digest, question, team="", board="")

    def answer(self, state: State, submission: Submission) -> tuple[State, Answer]:
        measurement = self.measure(submission)
        noise = self.noise(submission, state)
        return self.mechanism.step(self.params, state, measurement, noise)


@dataclass(frozen=True)
class Turn:
    """One submission: who, the state before and after, the answer, all teams after it."""

    submission: Submission
    before: State
    after: State
    answer: Answer
    teams: dict[int, TeamState]


def play(board: Board, submissions: Sequence[Submission]) -> list[Turn]:
    holdout = board.mechanism.initial_holdout(board.params)
    teams: dict[int, TeamState] = {}
    turns = []
    for submission in submissions:
        before = State(holdout, teams.get(submission.team, TeamState()))
        after, answer = board.answer(before, submission)
        holdout, teams = after.holdout, {**teams, submission.team: after.team}
        turns.append(Turn(submission, before, after, answer, teams))
    return turns


@st.composite
def boards(draw: st.DrawFn) -> Board:
    name = draw(st.sampled_from(sorted(ALL)))
    raw = draw(st.sampled_from(SETTINGS[name]))
    mechanism = ALL[name]
    rows = draw(st.sampled_from([1, 2, 10, 100, 997]))
    return Board(mechanism, mechanism.parse(raw), rows, draw(st.sampled_from([1, 10])))


@st.composite
def games(draw: st.DrawFn) -> tuple[Board, list[Submission]]:
    board = draw(boards())
    units = st.integers(0, board.rows * board.resolution)
    same = st.just(draw(units))
    submission = st.builds(Submission, st.integers(0, 2), units | same, units | same)
    return board, draw(st.lists(submission, min_size=1, max_size=25))


def share(team: TeamState) -> int:
    return team.share_left or 0


def promised(holdout: HoldoutState, teams: dict[int, TeamState]) -> int:
    return (holdout.budget_left or 0) + sum(share(team) for team in teams.values())


def test_every_mechanism_is_under_these_laws() -> None:
    assert SETTINGS.keys() == ALL.keys()


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_mechanism_explains_itself(name: str) -> None:
    mechanism = ALL[name]
    assert mechanism.name == name
    advice = mechanism.advice
    assert mechanism.title
    for text in (mechanism.description, mechanism.explanation, *astuple(advice)):
        assert text.endswith(".")
    for parameter in mechanism.parameters:
        assert parameter.help.endswith(".")
        assert parameter.title
        assert len(parameter.choice_titles) in {0, len(parameter.choices)}
    for kind in mechanism.kinds:
        assert kind.label
        assert kind.word
        assert kind.sentences
    for sentence in (each for kind in mechanism.kinds for each in kind.sentences):
        assert sentence.endswith(".")


@pytest.mark.parametrize(("name", "raw"), [(n, raw) for n in sorted(ALL) for raw in SETTINGS[n]])
def test_a_mechanism_has_the_attributes_of_its_contract(name: str, raw: dict[str, str]) -> None:
    mechanism = ALL[name]
    params = mechanism.parse(raw)
    assert len({kind.code for kind in mechanism.kinds}) == len(mechanism.kinds)
    assert mechanism.kind(mechanism.kinds[0].code) is mechanism.kinds[0]
    assert params.alphabet >= 1
    assert params.steps >= 1
    assert mechanism.reference(params) in get_args(Reference)
    assert (mechanism.unit is None) == (mechanism.initial_holdout(params).budget_left is None)


def test_kinds_of_one_code_differ_in_their_sentences_at_most() -> None:
    alike: dict[str, AnswerKind] = {}
    for kind in (kind for mechanism in ALL.values() for kind in mechanism.kinds):
        plain = replace(kind, sentences=())
        assert alike.setdefault(kind.code, plain) == plain


@pytest.mark.parametrize("name", sorted(ALL))
@pytest.mark.parametrize("kind", ["mean", "transformed_mean", "set_function"])
def test_a_mechanism_refuses_just_the_metrics_that_it_does_not_name(name: str, kind: str) -> None:
    mechanism = ALL[name]
    counts, metric = Counts(public=5000, private=5000), Metric("some metric", kind)
    if mechanism.metric_kinds is None or kind in mechanism.metric_kinds:
        mechanism.check(mechanism.parse({}), metric, counts)
    else:
        with pytest.raises(ParameterError, match="some metric"):
            mechanism.check(mechanism.parse({}), metric, counts)


@pytest.mark.parametrize("name", sorted(ALL))
def test_drafts_are_parameters_of_the_mechanism(name: str) -> None:
    need = Need(rows=30_000, teams=20, submissions=30, public=10_000)
    for draft in ALL[name].draft(need):
        ALL[name].parse(draft)


@given(games())
def test_an_answer_follows_from_its_kind_and_its_shown_losses(
    game: tuple[Board, list[Submission]],
) -> None:
    """What those who have not seen the holdout can compute again."""
    board, submissions = game
    for turn in play(board, submissions):
        answer = turn.answer
        reference_level = answer.reference_level or 0
        units, noise = board.mechanism.account_for(
            board.params,
            answer.kind,
            answer.loss,
            board.whole,
            Fraction(reference_level, answer.steps),
        )
        reference = board.measure(turn.submission).reference
        measurement = Measurement(Mean(units, board.rows, board.resolution), reference)
        again = board.mechanism.step(board.params, turn.before, measurement, noise)
        on_grid = answer.loss is None or board.whole % answer.steps == 0
        if on_grid:
            assert again == (turn.after, answer)


def test_a_mechanism_of_ones_own_can_be_registered() -> None:
    with registered(Peek()):
        assert get("peek").title == "Keyhole"
        assert answer_kind("seen").bounds == "both"
        with pytest.raises(ValueError, match="peek"):
            register(Peek())
    with pytest.raises(ParameterError, match="no mechanism called"):
        get("peek")
    with pytest.raises(StateError):
        answer_kind("seen")


@pytest.mark.parametrize("name", ["ladder", "heuristic"])
def test_a_name_that_is_taken_or_refused_cannot_be_registered(name: str) -> None:
    mechanism = type("Named", (Peek,), {"name": name})()
    with pytest.raises(ValueError, match=name):
        register(mechanism)


def test_sentences_are_left_out_where_a_field_has_no_value() -> None:
    seen, shut = Peek().kinds
    assert shut.select_sentences({"score": "0.9"}) == ("The door is shut.",)
    values = {"score": "0.9", "within": "0.1", "left": "1 peek", "claimed": None}
    assert len(seen.select_sentences(values)) == 2


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"code": "Not a code"}, "no code"),
        ({"sentences": ("You have {raw}.",)}, "unknown fields: raw"),
    ],
)
def test_an_impossible_kind_of_answer_is_refused(changes: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replace(Peek().kind("seen"), **changes)


@pytest.mark.parametrize("name", sorted(ALL))
def test_defaults_are_valid_and_survive_their_text_form(name: str) -> None:
    mechanism = ALL[name]
    defaults = mechanism.parse({})
    texts = {p.name: str(getattr(defaults, p.name)) for p in mechanism.parameters}
    assert mechanism.parse(texts) == defaults


@pytest.mark.parametrize("name", sorted(ALL))
def test_an_unknown_parameter_is_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        ALL[name].parse({"no_such_parameter": "1"})


@pytest.mark.parametrize("name", ["heuristic", "science_demo"])
def test_a_rule_for_experiments_is_refused_for_competitions(name: str) -> None:
    assert name in REFUSED
    with pytest.raises(ParameterError, match="experiments only"):
        get(name)


def test_an_unknown_mechanism_is_refused() -> None:
    with pytest.raises(ParameterError, match="no mechanism called"):
        get("median")


@given(games())
def test_a_replay_gives_the_same_answers(game: tuple[Board, list[Submission]]) -> None:
    assert play(*game) == play(*game)


@given(games())
def test_every_question_is_counted_once(game: tuple[Board, list[Submission]]) -> None:
    for number, turn in enumerate(play(*game), start=1):
        assert turn.answer.asked == turn.after.holdout.asked == number


@given(games())
def test_only_an_answer_that_says_more_than_no_adds_to_the_ledger(
    game: tuple[Board, list[Submission]],
) -> None:
    board, submissions = game
    for turn in play(board, submissions):
        before, after = turn.before.holdout, turn.after.holdout
        loud = board.says_more(turn.answer)
        assert after.answered - before.answered == loud
        assert after.firings - before.firings == loud
        assert after.log_alphabets >= before.log_alphabets
        if not loud:
            assert after.log_alphabets == before.log_alphabets


@given(games())
def test_a_budget_never_rises_and_pays_for_each_answer(
    game: tuple[Board, list[Submission]],
) -> None:
    board, submissions = game
    left = board.mechanism.initial_holdout(board.params).budget_left
    for turn in play(board, submissions):
        if left is None:
            assert turn.after.holdout.budget_left is None
            assert turn.after.team.share_left is None
            continue
        loud = board.says_more(turn.answer)
        assert promised(turn.after.holdout, turn.teams) == left - loud
        left -= loud


@given(games())
def test_no_team_changes_anothers_share(game: tuple[Board, list[Submission]]) -> None:
    shares: dict[int, int | None] = {}
    for turn in play(*game):
        for team, state in turn.teams.items():
            if team != turn.submission.team:
                assert state.share_left == shares[team]
            shares[team] = state.share_left


@given(games())
def test_laws_foresee_every_answer_and_no_more_than_all_of_them(
    game: tuple[Board, list[Submission]],
) -> None:
    """What a mechanism answers is possible by its last law, and certain where it is said to be."""
    board, submissions = game
    laws = board.mechanism.laws(board.params, board.rows, board.rows)
    book, teams = BoardBook.start(laws), dict.fromkeys(range(3), TeamBook.start(laws))
    for turn in play(board, submissions):
        reference, team = board.measure(turn.submission).reference, turn.submission.team
        asked = board.mechanism.law_question(board.params, turn.before, board.rows, reference)
        level = board.mechanism.law_answer(turn.answer.kind, turn.answer.level)
        if asked is None:
            assert level is None
            continue
        for law, state, memory in zip(laws, book.states, teams[team].memories, strict=True):
            foreseen = [
                probability_of(law, state, memory, asked, each)
                for each in (None, *range(board.params.steps + 1))
            ]
            assert sum(foreseen[: asked.alphabet + 1] if law.name == "plain" else foreseen) == 1
        book, teams[team] = charge(laws, book, teams[team], asked, level)
        assert BoardBook.from_json(json.loads(json.dumps(book.to_json()))) == book
        assert TeamBook.from_json(json.loads(json.dumps(teams[team].to_json()))) == teams[team]
    assert book.states[-1].length is not None
    assert sum(team.spent for team in teams.values()) == book.states[-1].length


def probability_of(
    law: Law[Any], state: LawState, memory: Fraction, question: Question, level: int | None
) -> Fraction:
    try:
        return law.probability(state, memory, question, level)
    except StateError:  # no answer to this question shows this level
        return Fraction(0)


@given(games())
def test_exhausted_stays_exhausted(game: tuple[Board, list[Submission]]) -> None:
    exhausted: set[int] = set()
    for turn in play(*game):
        if turn.submission.team in exhausted:
            assert turn.answer.kind == "exhausted"
        if turn.answer.kind == "exhausted":
            exhausted.add(turn.submission.team)
            assert turn.after.team == turn.before.team
            assert turn.answer.certificate is None


@given(games())
def test_answers_lie_on_their_grid(game: tuple[Board, list[Submission]]) -> None:
    board, submissions = game
    for turn in play(board, submissions):
        answer = turn.answer
        assert answer.steps == board.params.steps
        assert answer.loss is None or 0 <= answer.loss <= 1
        reference = board.measure(turn.submission).reference
        assert reference is not None
        assert answer.reference_level == reference.level(answer.steps)


@given(games())
def test_a_teams_levels_are_those_that_were_released_to_it(
    game: tuple[Board, list[Submission]],
) -> None:
    board, submissions = game
    released: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for turn in play(board, submissions):
        mine = released[turn.submission.team]
        shows = board.mechanism.kind(turn.answer.kind).shows
        if turn.answer.level is not None and shows != "earlier":
            mine.append(turn.answer.level)
        assert turn.after.team.best == min(mine, default=None)
        assert turn.after.team.last == (mine[-1] if mine else None)


@given(games(), st.data())
def test_a_no_says_only_that_it_is_a_no(
    game: tuple[Board, list[Submission]], data: st.DataObject
) -> None:
    """Another holdout on which the same predictions also get a "no" gives the same answer."""
    board, submissions = game
    turn = play(board, submissions)[-1]
    units = data.draw(st.integers(0, board.rows * board.resolution))
    noise = board.noise(turn.submission, turn.before)
    other = board.measure(replace(turn.submission, holdout=units))
    after, answer = board.mechanism.step(board.params, turn.before, other, noise)
    if answer.kind == turn.answer.kind and not board.says_more(answer):
        assert (after, answer) == (turn.after, turn.answer)


@given(games(), st.data())
def test_a_certificate_follows_from_what_is_published(
    game: tuple[Board, list[Submission]], data: st.DataObject
) -> None:
    """Width and tolerance do not change with the measurement, given the kind of the answer."""
    board, submissions = game
    turn = play(board, submissions)[-1]
    units = data.draw(st.integers(0, board.rows * board.resolution))
    _, other = board.answer(turn.before, replace(turn.submission, holdout=units))
    assert other.width == turn.answer.width
    if other.kind == turn.answer.kind:
        assert other.tolerance == turn.answer.tolerance
    assert other.asked == turn.answer.asked


@given(games())
def test_a_question_does_not_depend_on_other_teams(game: tuple[Board, list[Submission]]) -> None:
    board, submissions = game
    turn = play(board, submissions)[-1]
    if turn.answer.kind == "exhausted":
        return
    alone = State(board.mechanism.initial_holdout(board.params), turn.before.team)
    reference = board.measure(turn.submission).reference
    question = board.mechanism.question
    asked = question(board.params, turn.before, reference)
    assert asked == question(board.params, alone, reference)


@pytest.mark.parametrize(("name", "raw"), [(n, raw) for n in sorted(ALL) for raw in SETTINGS[n]])
@pytest.mark.parametrize(("units", "rows"), [(0, 10), (5, 10), (10, 10), (0, 1), (1, 1)])
def test_equal_submissions_of_many_teams_are_answered_alike(
    name: str, raw: dict[str, str], units: int, rows: int
) -> None:
    """All equal, exact ties of reference and holdout, and a single row."""
    mechanism = ALL[name]
    board = Board(mechanism, mechanism.parse(raw), rows, 1)
    turns = play(board, [Submission(team, units, units) for team in range(8)])
    levels = {turn.answer.level for turn in turns if turn.answer.kind != "exhausted"}
    assert len(levels) == 1
