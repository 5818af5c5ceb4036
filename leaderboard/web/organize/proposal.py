"""The page "What we propose": what dropped files propose, each with its reason, to be changed."""

from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Board, Competition, QuickSetup, Round
from leaderboard.organize.plan import plan_boards
from leaderboard.organize.plan import use_board as take_board
from leaderboard.organize.quick import BASELINES
from leaderboard.organize.recast import SHARES, Wish, change_proposal, target_for
from leaderboard.web.charts.gains import gains_chart
from leaderboard.web.organize.frame import refusals, show, url_of, why_fixed
from leaderboard.web.organize.settings import MomentField
from scoring import metrics

_WORDS: Final = {"row": "By row", "group": "By group", "time": "By time"}


class ProposalForm(forms.Form):
    """What was proposed for a draft. Its reasons stand beside the fields."""

    metric = forms.ChoiceField(label="Metric")
    clip = forms.CharField()
    steps = forms.CharField(label="Steps of the board")
    split = forms.ChoiceField(label="Split")
    public = forms.DecimalField(label="Public", min_value=0, max_value=100, decimal_places=2)
    private = forms.DecimalField(label="Private", min_value=0, max_value=100, decimal_places=2)
    final = forms.DecimalField(label="Final", min_value=0, max_value=100, decimal_places=2)
    teams = forms.IntegerField(label="Teams", min_value=1, max_value=1_000_000)
    submissions = forms.IntegerField(label="Submissions each", min_value=1, max_value=1_000_000)
    closes_at = MomentField(label="Closes (UTC)")

    def __init__(self, round: Round, setup: QuickSetup, data: Any = None) -> None:
        board = round.board
        super().__init__(data)
        self.splits = {_key(each): each for each in setup.facts["splits"]}
        split = setup.facts["split"]
        self.splits.setdefault(_key(split), split)
        self._choice("metric").choices = _metrics(round, setup)
        given = f"By the column {split['column']}"
        self._choice("split").choices = [
            (key, given if split["given"] else f"{_WORDS[each['by']]} {each['column']}".strip())
            for key, each in self.splits.items()
            if each["by"] == split["by"] or not split["given"]
        ]
        self.initial.update(
            {
                "metric": board.metric,
                "clip": board.metric_parameters.get("clip", ""),
                "steps": board.mechanism_parameters.get("steps", ""),
                "split": _key(split),
                "teams": max(1, (round.team_limit or 0) - BASELINES),
                "submissions": round.total_limit,
                "closes_at": round.closes_at,
            }
        )
        for name, parameters in (
            ("clip", board.metric_parameters),
            ("steps", board.mechanism_parameters),
        ):
            if name not in parameters:
                del self.fields[name]
        if "clip" in self.fields:
            own = metrics.get(board.metric).parameters
            self.fields["clip"].label = next(each.title for each in own if each.name == "clip")
        if split["given"]:
            for name in SHARES:
                del self.fields[name]
        else:
            shares = {name: Fraction(split["shares"][name]) for name in SHARES}
            self.initial.update({name: _percent(share) for name, share in shares.items()})
        self.reasons = _reasons(board, setup)

    @property
    def rows(self) -> list[tuple[forms.BoundField, str]]:
        """Return the fields with their reasons, the shares left out."""
        return [
            (self[name], self.reasons.get(name, "")) for name in self.fields if name not in SHARES
        ]

    @property
    def shares(self) -> list[forms.BoundField]:
        return [self[name] for name in SHARES if name in self.fields]

    def wish(self) -> Wish:
        """Return what was changed."""
        changed, data = set(self.changed_data), self.cleaned_data
        plain = ("metric", "clip", "steps", "teams", "submissions", "closes_at")
        given: dict[str, Any] = {name: data[name] for name in plain if name in changed}
        if self.shares and changed & {"split", *SHARES}:
            parts = {name: Fraction(str(data[name])) for name in SHARES}
            whole = sum(parts.values()) or 1
            shares = {name: str(part / whole) for name, part in parts.items()}
            given["split"] = self.splits[data["split"]] | {"shares": shares}
        return Wish(**given)

    def _choice(self, name: str) -> forms.ChoiceField:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101  (declared above)
        return field


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what is proposed, and take what is changed."""
    round = competition.current_round
    setup = _setup_or_404(round)
    form = ProposalForm(round, setup, request.POST or None)
    fixed = why_fixed(round)
    status = 422 if request.method == "POST" else 200
    if not fixed and form.is_valid():
        with refusals(form):
            if change_proposal(competition, form.wish(), by=signed_in(request)):
                messages.success(
                    request, "Saved. A worker seals the solution anew: that takes a moment."
                )
            elif form.changed_data:
                messages.success(request, "Saved.")
            return redirect(url_of(competition, "run"))
    plan = None if fixed else plan_boards(round)
    context = {
        "form": form,
        "fixed": fixed,
        "setup": setup,
        "plan": plan,
        "chart": gains_chart(plan.curves) if plan else None,
    }
    response = show(request, competition, "proposal", context)
    response.status_code = status
    return response


def use_board(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Take the mechanism of one of the cards."""
    if request.method == "POST":
        try:
            take_board(
                competition.current_round, request.POST.get("board", ""), by=signed_in(request)
            )
        except Refused as refused:
            messages.warning(request, str(refused))
        else:
            messages.success(request, "The board is saved.")
    setup = QuickSetup.objects.filter(round=competition.current_round)
    return redirect(url_of(competition, "proposal" if setup.exists() else "scoring"))


def _setup_or_404(round: Round) -> QuickSetup:
    setup = QuickSetup.objects.filter(round=round).first()
    if setup is None:
        raise Http404("Nothing was proposed here.")
    return setup


def _metrics(round: Round, setup: QuickSetup) -> list[tuple[str, Any]]:
    """Return the metrics that fit, by what they ask a prediction to be."""
    kinds = {
        "label": "Predict the class",
        "probability": "Predict probabilities",
        "number": "Predict numbers",
        "labels": "Predict sets of labels",
        "ranking": "Predict rankings",
        "text": "Answer in words",
    }
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, metric in metrics.METRICS.items():
        try:
            schema, _ = target_for(round, setup, name)
        except Refused:
            continue
        title = metric.title if metric.is_mean else f"{metric.title} (no guarantee)"
        groups.setdefault(kinds[schema.columns[0].kind], []).append((name, title))
    return list(groups.items())


def _reasons(board: Board, setup: QuickSetup) -> dict[str, str]:
    """Return why each field was proposed, as long as it is what was."""
    facts = setup.facts
    proposed = {each.field: each for each in organize.propose(board)}
    reasons = {"metric": facts["reasons"]["metric"], "split": facts["split"]["reason"]}
    for name, field in (
        ("clip", "metric_parameters.clip"),
        ("steps", "mechanism_parameters.steps"),
    ):
        if field in proposed:
            reasons[name] = proposed[field].reason
    if "question_limit" in proposed:
        reasons["submissions"] = proposed["question_limit"].reason
    reasons["teams"] = f"At most, and {BASELINES} more for baselines."
    if board.metric != facts.get("metric", board.metric):
        reasons["metric"] = metrics.get(board.metric).description
    return reasons


def _key(split: dict[str, Any]) -> str:
    return f"{split['by']} {split['column']}".strip()


def _percent(share: Fraction) -> Decimal:
    return Decimal(f"{float(100 * share):.2f}".rstrip("0").rstrip("."))
