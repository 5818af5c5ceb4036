"""Rounds of a competition and their boards, as everybody may see them."""

from typing import Any

from leaderboard.models import Board, Competition, Round, Standing
from leaderboard.queries.competitions import metric_title
from leaderboard.queries.scales import scale


def begun_rounds(competition: Competition) -> list[Round]:
    """Return the current round and those before it, without any that still hides its teams."""
    current = competition.current_round
    return [
        each
        for each in competition.rounds.all()
        if each == current
        or (each.number < current.number and each.ledger_id and not each.hides_others)
    ]


def listed_boards(competition: Competition) -> list[dict[str, Any]]:
    """Return the rounds that have begun with their boards, for programs; none of a draft."""
    if competition.opened_by_organizer_at is None:
        return []
    return [
        {
            "number": round.number,
            "title": round.title,
            "ledger": round.ledger.uid if round.ledger else None,
            "boards": [
                {"position": board.position, "title": title, "uid": board.uid}
                for board, title in titled_boards(round).items()
            ],
        }
        for round in begun_rounds(competition)
    ]


def titled(round: Round) -> str:
    """Return what a round is called; nothing for a first one without a title."""
    return round.title or (f"Round {round.number}" if round.number > 1 else "")


def titled_boards(round: Round) -> dict[Board, str]:
    """Return the boards of a round with their titles, the one that ranks first."""
    boards = list(round.boards.all())
    titles = [board.title or metric_title(board) for board in boards]
    return {
        board: title if titles.count(title) == 1 else f"{title} {place}"
        for place, (board, title) in enumerate(zip(boards, titles, strict=True), start=1)
    }


def column_scores(shown: Board, teams: list[int]) -> dict[str, dict[int, str]]:
    """Return what teams have on the other boards of the round: by the board's title and team."""
    others = {board: title for board, title in titled_boards(shown.round).items() if board != shown}
    if not others:
        return {}
    scores = {board.pk: (scale(board), dict[int, str]()) for board in others}
    rows = Standing.objects.filter(board__in=others, team__in=teams)
    for board, team, loss in rows.values_list("board", "team", "loss"):
        reads, found = scores[board]
        if loss is not None:
            found[team] = reads.text(loss)
    return {title: scores[board.pk][1] for board, title in others.items()}
