"""What a competition says to everybody in a few lines: for its picture, badge and embedding."""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from leaderboard import queries, words
from leaderboard.access import competition_or_404, may_see_others
from leaderboard.models import Competition, Phase

_ANYBODY = AnonymousUser()
_NO_SCORES = "no scores yet"


@dataclass(frozen=True)
class Line:
    """A team on the board, or a baseline, which has no `rank`."""

    rank: str
    team: str
    score: str


@dataclass(frozen=True)
class Summary:
    """A competition, and the first rows of its board, as people see it who are not signed in.

    `state` says how long it goes on. `note` says why there are no `lines`. `guarantee` is the
    sentence about the board, `figure` the same as a number; empty without one, and at the end.
    """

    title: str
    tagline: str
    slug: str
    state: str
    is_final: bool
    lines: tuple[Line, ...]
    note: str
    guarantee: str
    figure: str

    @property
    def badge(self) -> str:
        """Return what stands on the badge."""
        leader = next((line for line in self.lines if line.rank), None)
        if leader is None:
            return self.note or _NO_SCORES
        said = "final" if self.is_final else "best"
        return " ".join(filter(None, (said, leader.score, self.figure)))


def summarize(slug: str, rows: int) -> Summary:
    """Return it with the first `rows` teams, and baselines between them.

    Raises Http404 unless everybody may see it.
    """
    competition = competition_or_404(_ANYBODY, slug)
    round = competition.current_round
    phase = queries.competition_head(competition, _ANYBODY).phase
    if phase is Phase.DRAFT:
        raise Http404("There is no such competition.")
    is_final = round.revealed_at is not None
    lines = _final_lines(competition, rows) if is_final else _lines(competition, rows)
    guarantee = None if is_final or not lines else queries.guarantee(round.board)
    return Summary(
        title=competition.title,
        tagline=competition.tagline,
        slug=competition.slug,
        state=_state(competition, phase),
        is_final=is_final,
        lines=lines,
        note="" if lines else _why_empty(competition),
        guarantee=words.board_guarantee(guarantee) if guarantee else "",
        figure=guarantee.text if guarantee else "",
    )


def _lines(competition: Competition, rows: int) -> tuple[Line, ...]:
    board = competition.current_round.board
    found = queries.board(board, _ANYBODY, page_rows=rows)
    return tuple(
        Line(str(row.rank or ""), _named(row), row.score)
        for row in found.rows
        if row.score is not None
    )


def _final_lines(competition: Competition, rows: int) -> tuple[Line, ...]:
    found = queries.final_board(competition.current_round, _ANYBODY, page_rows=rows)
    return tuple(Line(str(row.rank or ""), _named(row), row.best.score) for row in found.rows)


def _named(row: queries.BoardRow | queries.FinalRow) -> str:
    return f"{row.team} (baseline)" if row.is_baseline else row.team


def _why_empty(competition: Competition) -> str:
    return _NO_SCORES if may_see_others(_ANYBODY, competition) else "hidden until the end"


def _state(competition: Competition, phase: Phase) -> str:
    """Return it without a word of how long ago, which would soon be wrong in a copy."""
    round = competition.current_round
    if round.revealed_at is not None:
        return "Final scores"
    if phase is Phase.UPCOMING:
        return f"Opens on {round.opens_at.day} {round.opens_at:%B %Y}"
    if round.closes_at is None:
        return "Open, without an end"
    day = f"{round.closes_at.day} {round.closes_at:%B %Y}"
    return f"Closed on {day}" if phase is Phase.CLOSED else f"Open until {day}"
