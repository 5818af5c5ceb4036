"""The page "Webhooks": addresses, what they were sent, and what they answered."""

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone

from leaderboard.access import signed_in
from leaderboard.errors import Refused
from leaderboard.models import Competition, EventKind, User, Webhook
from leaderboard.notify.webhooks import secret_of
from leaderboard.organize.webhooks import (
    LONGEST_URL,
    add_webhook,
    change_webhook,
    check_sees_webhooks,
    delete_webhook,
    renew_secret,
    send_again,
    switch_webhook,
    try_webhook,
)
from leaderboard.web.organize.frame import refusals, show, url_of
from leaderboard.web.posting import shows_refusals

LISTED = 30


class WebhookForm(forms.Form):
    """An address, and the kinds of events that are sent to it."""

    url = forms.CharField(
        label="Address",
        max_length=LONGEST_URL,
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off"}),
        help_text="For example https://example.org/hooks/holdfast",
    )
    kinds = forms.MultipleChoiceField(
        label="Events",
        choices=EventKind.choices,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Without any chosen, all of them.",
    )


@shows_refusals
def page(request: HttpRequest, competition: Competition) -> HttpResponse:
    """List the webhooks; show or take a new one, with its secret, this once."""
    check_sees_webhooks(competition, signed_in(request))
    form = WebhookForm(request.POST or None)
    if form.is_valid():
        with refusals(form):
            made = add_webhook(competition, by=signed_in(request), **form.cleaned_data)
            return _show_one(request, made, new=True, status=201)
    context = {"form": form, "webhooks": competition.webhooks.all()}
    return show(request, competition, "webhooks", context)


@shows_refusals
def one(request: HttpRequest, competition: Competition, webhook_id: int) -> HttpResponse:
    """Show a webhook with its last deliveries; take changes."""
    webhook = _one(request, competition, webhook_id)
    form = WebhookForm(request.POST or None, initial={"url": webhook.url, "kinds": webhook.kinds})
    if form.is_valid():
        with refusals(form):
            change_webhook(webhook, by=signed_in(request), **form.cleaned_data)
            messages.success(request, "Saved.")
            return redirect("organize-webhook", competition.slug, webhook.pk)
    return _show_one(request, webhook, form)


@shows_refusals
def renew(request: HttpRequest, competition: Competition, webhook_id: int) -> HttpResponseBase:
    """Give the webhook another secret, and show it this once."""
    webhook = _one(request, competition, webhook_id)
    return _act(
        request,
        webhook,
        lambda by: renew_secret(webhook, by=by),
        then=lambda: _show_one(request, webhook, new=True),
    )


@shows_refusals
def switch(request: HttpRequest, competition: Competition, webhook_id: int) -> HttpResponseBase:
    """Turn the webhook off, or on again."""
    webhook = _one(request, competition, webhook_id)
    on = request.POST.get("on") == "1"
    told = "It is on." if on else "It is off."
    return _act(request, webhook, lambda by: switch_webhook(webhook, by=by, on=on), told)


@shows_refusals
def send_test(request: HttpRequest, competition: Competition, webhook_id: int) -> HttpResponseBase:
    """Send the webhook something that is no event."""
    webhook = _one(request, competition, webhook_id)
    told = "A test is on its way. Load this page again to see its answer."
    return _act(request, webhook, lambda by: try_webhook(webhook, by=by), told)


@shows_refusals
def again(
    request: HttpRequest, competition: Competition, webhook_id: int, delivery_id: int
) -> HttpResponseBase:
    """Send a delivery once more."""
    webhook = _one(request, competition, webhook_id)
    delivery = webhook.deliveries.filter(pk=delivery_id).first()
    if delivery is None:
        raise Http404("There is no such delivery.")
    told = "It is on its way again. Load this page again to see its answer."
    return _act(request, webhook, lambda by: send_again(delivery, by=by), told)


@shows_refusals
def delete(request: HttpRequest, competition: Competition, webhook_id: int) -> HttpResponseBase:
    """Ask, then delete the webhook."""
    webhook = _one(request, competition, webhook_id)
    if request.method != "POST":
        return show(request, competition, "webhook_delete", {"webhook": webhook})
    return _act(
        request,
        webhook,
        lambda by: delete_webhook(webhook, by=by),
        "It is deleted.",
        then=lambda: redirect(url_of(competition, "webhooks")),
    )


def _one(request: HttpRequest, competition: Competition, webhook_id: int) -> Webhook:
    check_sees_webhooks(competition, signed_in(request))
    found = competition.webhooks.filter(pk=webhook_id).select_related("competition").first()
    if found is None:
        raise Http404("There is no such webhook.")
    return found


def _act(
    request: HttpRequest,
    webhook: Webhook,
    act: Callable[[User], object],
    told: str = "",
    then: Callable[[], HttpResponseBase] | None = None,
) -> HttpResponseBase:
    """Do what a button asks for and lead back; who only looks is led back at once."""
    back = redirect("organize-webhook", webhook.competition.slug, webhook.pk)
    if request.method != "POST":
        return back
    try:
        act(signed_in(request))
    except Refused as refused:
        messages.warning(request, str(refused))
        return back
    if told:
        messages.success(request, told)
    return then() if then else back


def _show_one(
    request: HttpRequest,
    webhook: Webhook,
    form: WebhookForm | None = None,
    *,
    new: bool = False,
    status: int = 200,
) -> HttpResponse:
    competition = webhook.competition
    given = {"url": webhook.url, "kinds": webhook.kinds}
    context = {
        "webhook": webhook,
        "form": form or WebhookForm(initial=given),
        "secret": secret_of(webhook) if new else "",
        "deliveries": webhook.deliveries.select_related("event")[:LISTED],
        "rests": webhook.retry_at is not None and webhook.retry_at > timezone.now(),
    }
    answer = show(request, competition, "webhook", context)
    answer.status_code = status
    answer["Cache-Control"] = "no-store"
    return answer
