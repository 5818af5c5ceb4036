"""The ledger as its organizer sees it: what was asked, what is left, how wide guarantees are."""

from collections.abc import Mapping

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from leaderboard import organize
from leaderboard.access import signed_in
from leaderboard.models import Board, Competition, Team
from leaderboard.organize.budgets import MOST
from leaderboard.queries.budgets import budget
from leaderboard.queries.certificates import round_up
from leaderboard.queries.guarantees import guarantee_if_used
from leaderboard.queries.wear import wear
from leaderboard.web.organize.frame import refusals, show, url_of


class BudgetForm(forms.Form):
    """How many answers are added, and for whom. What they cost is shown before they are."""

    amount = forms.IntegerField(label="How many", min_value=1, max_value=MOST)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, board: Board, data: Mapping[str, str] | None) -> None:
        super().__init__(data)
        shares = Team.objects.filter(states__board=board, states__share_left__isnull=False)
        self.fields["team"] = forms.ModelChoiceField(
            shares.distinct(),
            label="For one team only",
            required=False,
            empty_label="No, for all teams",
            help_text="A team can have more once it has taken its share.",
        )


def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """Show what was asked and answered, what is left, and each team's share; raise the budget."""
    board = competition.current_round.board
    found = budget(board)
    has_budget = found is not None and found.budget_left is not None
    form = BudgetForm(board, request.POST or None) if has_budget else None
    cost = None
    if form is not None and form.is_valid():
        amount = form.cleaned_data["amount"]
        if form.cleaned_data["seen"] == amount:
            with refusals(form):
                team = form.cleaned_data["team"]
                organize.add_budget(board, amount, by=signed_in(request), team=team)
                messages.success(request, "The budget is raised.")
                return redirect(url_of(competition, "budget"))
        half = guarantee_if_used(board, amount)
        cost = {"amount": amount, "half": None if half is None else round_up(half)}
        # What was looked at is what is added: another number is shown first.
        shown = request.POST.copy()
        shown["seen"] = str(amount)
        form.data = shown
    context = {"ledger": found, "form": form, "cost": cost, "wear": wear(board)}
    return show(request, competition, "budget", context)
