"""Who gets in: by a mailed link, by the join code, by the domain of an address."""

from __future__ import annotations

from datetime import timedelta
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import override_settings
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from leaderboard import access, organize
from leaderboard.errors import Refused
from leaderboard.models import (
    Audience,
    Competition,
    Event,
    EventKind,
    Invitee,
    MailState,
    User,
    Visibility,
)
from leaderboard.notify import invitations as mails
from leaderboard.organize import entry, invitations
from leaderboard.participate import admission, membership
from leaderboard.queries import people
from leaderboard.tasks import send_invitations
from tests.cast import World, make_competition, make_user

ADA = "ada@uni.example"


@pytest.fixture
def closed(world: World) -> Competition:
    """`digits`, for invited people only."""
    Competition.objects.update(visibility=Visibility.INVITED)
    world.digits.refresh_from_db()
    return world.digits


def invite(world: World, *people: str) -> list[Invitee]:
    invitations.invite(world.digits, people, by=world.organizer)
    return list(world.digits.invitees.order_by("pk"))


def sees(user: User, competition: Competition) -> bool:
    return access.visible_competitions(user).filter(pk=competition.pk).exists()


def confirm(user: User, email: str, *, verified: bool = True) -> None:
    EmailAddress.objects.create(user=user, email=email, verified=verified)


def refused(act: Any) -> str:
    with pytest.raises(Refused) as caught:
        act()
    return str(caught.value.facts.get("variant", caught.value.code))


# --- Inviting -------------------------------------------------------------------------------------


def test_people_are_invited_by_address_or_by_name(world: World, closed: Competition) -> None:
    done = invitations.invite(closed, [" ADA@uni.example ", "Bob", ADA, ""], by=world.organizer)
    assert done == invitations.Invited(by_mail=1, by_account=1, known=0)
    assert closed.invitees.get().email == ADA
    assert sees(world.bob, closed)
    assert not sees(world.alice, closed)
    again = invitations.invite(closed, [ADA, "bob", "alice"], by=world.organizer)
    assert again == invitations.Invited(by_mail=0, by_account=1, known=2)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["bob", "nobody"], "no account called nobody"),
        (["bob", "ada@"], "ada@: no mail address"),
        ([" "], "at least one"),
        ([f"a{i}@uni.example" for i in range(201)], "at most 200"),
    ],
)
def test_nobody_is_invited_where_somebody_is_unknown(
    world: World, names: list[str], words: str
) -> None:
    with pytest.raises(Refused, match=words):
        invitations.invite(world.digits, names, by=world.organizer)
    assert not world.digits.invitees.exists()
    assert not world.digits.invited.exists()


def test_events_tell_organizers_how_many_and_nobody_who(world: World) -> None:
    (ada,) = invite(world, ADA)
    invitations.send_again(ada, by=world.organizer)
    invitations.withdraw(ada, by=world.organizer)
    told = Event.objects.filter(kind=EventKind.INVITED).order_by("number")
    assert [each.data for each in told] == [{"people": 1}, {"again": 1}, {"withdrawn": 1}]
    assert {each.audience for each in told} == {Audience.ORGANIZERS}


def test_a_viewer_sees_no_names_and_no_addresses(world: World) -> None:
    world.digits.invitees.create(email=ADA, name="Ada Lovelace", alias="Heron")
    viewer = make_user("viewer", is_organizer=True)
    world.digits.roles.create(user=viewer, role="viewer")
    (row,) = people.people(world.digits, viewer).rows
    assert (row.name, row.email, row.alias) == ("", "", "Heron")
    assert people.people(world.digits, viewer, search="ada").rows == ()
    (row,) = people.people(world.digits, world.organizer, search="lovelace").rows
    assert (row.name, row.email) == ("Ada Lovelace", ADA)


# --- The mail -------------------------------------------------------------------------------------


def test_a_mail_with_the_link_leaves_when_the_invitation_is_committed(
    world: World, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        (ada,) = invite(world, ADA)
    ada.refresh_from_db()
    assert ada.mail == MailState.QUEUED
    send_invitations(competition_id=ada.competition_id)
    send_invitations(competition_id=ada.competition_id)
    (message,) = mail.outbox
    assert message.to == [ADA]
    assert f"{settings.SITE_URL}/c/digits/invited/{ada.token}/" in str(message.body)
    ada.refresh_from_db()
    assert ada.mail == MailState.SENT


def test_the_title_begins_no_header_of_its_own(world: World) -> None:
    Competition.objects.update(title="Digits\nBcc: all@example.org")
    (ada,) = invite(world, ADA)
    send_invitations(competition_id=ada.competition_id)
    assert mail.outbox[0].subject == "[Holdfast] You are invited: Digits Bcc: all@example.org"


def test_mails_of_a_draft_wait_for_its_opening(world: World) -> None:
    organize.return_to_draft(world.digits, by=world.organizer)
    (ada,) = invite(world, ADA)
    send_invitations(competition_id=ada.competition_id)
    assert mail.outbox == []
    organize.open_competition(world.digits, by=world.organizer)
    Invitee.objects.update(mail_at=timezone.now() - timedelta(hours=1))
    assert mails.waiting() == [ada.competition_id]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (SMTPRecipientsRefused({}), MailState.FAILED),
        (SMTPServerDisconnected(), MailState.QUEUED),
        (ConnectionRefusedError(), MailState.QUEUED),
    ],
)
def test_a_refused_mail_has_failed_and_others_wait_for_the_server(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception, state: MailState
) -> None:
    def refuse(self: object, messages: object) -> int:
        raise error

    monkeypatch.setattr(EmailBackend, "send_messages", refuse)
    (ada,) = invite(world, ADA)
    send_invitations(competition_id=ada.competition_id)
    ada.refresh_from_db()
    assert ada.mail == state


def test_a_worker_mails_a_batch_and_asks_for_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()
    monkeypatch.setattr(mails, "BATCH", 2)
    monkeypatch.setattr("leaderboard.tasks.enqueue_invitations", asked.append)
    invite(world, "a@uni.example", "b@uni.example", "c@uni.example")
    send_invitations(competition_id=world.digits.pk)
    assert (len(mail.outbox), asked) == (2, [world.digits.pk])
    send_invitations(competition_id=world.digits.pk)
    assert (len(mail.outbox), asked) == (3, [world.digits.pk])


def test_the_sweeper_asks_again_for_mails_that_nobody_sends(world: World) -> None:
    invite(world, "a@uni.example", "b@uni.example")
    assert mails.waiting() == []
    Invitee.objects.update(mail_at=timezone.now() - timedelta(hours=1))
    assert mails.waiting() == [world.digits.pk]
    sent = Invitee.objects.filter(email="a@uni.example")
    sent.update(mail=MailState.SENT, mail_at=timezone.now())
    assert mails.waiting() == []  # somebody is at it


def test_what_a_worker_held_when_it_died_is_not_sent_a_second_time(world: World) -> None:
    (ada,) = invite(world, ADA)
    long_ago = timezone.now() - timedelta(days=1)
    Invitee.objects.update(mail=MailState.SENDING, mail_at=long_ago)
    assert mails.waiting() == []
    ada.refresh_from_db()
    assert ada.mail == MailState.FAILED
    invitations.send_again(ada, by=world.organizer)
    send_invitations(competition_id=ada.competition_id)
    assert len(mail.outbox) == 1


def test_who_took_the_invitation_gets_no_mail(world: World) -> None:
    (ada,) = invite(world, world.alice.email)
    admission.accept(invitee=ada, user=world.alice)
    send_invitations(competition_id=ada.competition_id)
    assert mail.outbox == []
    assert refused(lambda: invitations.send_again(ada, by=world.organizer)) == "mail"


# --- Taking the link ------------------------------------------------------------------------------


def test_the_link_lets_the_address_in_that_it_went_to(world: World, closed: Competition) -> None:
    (ada,) = invite(world, "ALICE@example.org")
    assert refused(lambda: admission.accept(invitee=ada, user=world.bob)) == "address"
    admission.accept(invitee=ada, user=world.alice)
    assert sees(world.alice, closed)
    assert not sees(world.bob, closed)
    ada.refresh_from_db()
    assert ada.user == world.alice
    assert world.join(world.alice).captain == world.alice


@override_settings(ACCOUNT_EMAIL_VERIFICATION="mandatory")
def test_where_the_site_demands_it_the_address_is_confirmed_first(
    world: World, closed: Competition
) -> None:
    (ada,) = invite(world, world.alice.email)
    assert refused(lambda: admission.accept(invitee=ada, user=world.alice)) == "unconfirmed"
    confirm(world.alice, world.alice.email)
    admission.accept(invitee=ada, user=world.alice)
    assert sees(world.alice, closed)


def test_who_opens_the_mailed_link_has_confirmed_the_address(world: World) -> None:
    (ada,) = invite(world, world.alice.email)
    confirm(world.alice, world.alice.email, verified=False)
    admission.accept(invitee=ada, user=world.alice)
    assert EmailAddress.objects.get(user=world.alice).verified


def test_an_invitation_is_taken_once(world: World) -> None:
    (ada,) = invite(world, world.alice.email)
    admission.accept(invitee=ada, user=world.alice)
    admission.accept(invitee=ada, user=world.alice)
    confirm(world.bob, world.alice.email, verified=False)
    assert refused(lambda: admission.accept(invitee=ada, user=world.bob)) == "taken"


def test_a_withdrawn_link_leads_nowhere_and_lets_nobody_in(
    world: World, closed: Competition
) -> None:
    (ada,) = invite(world, world.alice.email)
    admission.accept(invitee=ada, user=world.alice)
    invitations.withdraw(ada, by=world.organizer)
    assert not sees(world.alice, closed)
    assert not closed.invitees.exists()


def test_who_has_joined_stays_when_the_invitation_is_withdrawn(
    world: World, closed: Competition
) -> None:
    invite(world, "alice")
    team = world.join(world.alice)
    invitations.withdraw_account(closed, world.alice, by=world.organizer)
    assert sees(world.alice, closed)
    assert team.memberships.active().count() == 1


# --- Aliases --------------------------------------------------------------------------------------


@pytest.fixture
def heron(world: World) -> Invitee:
    """Alice on the class list, with an alias."""
    return Invitee.objects.create(
        competition=world.digits, email=world.alice.email, name="Alice Lidell", alias="Blue Heron"
    )


def test_who_has_an_alias_takes_part_under_it(world: World, heron: Invitee) -> None:
    admission.accept(invitee=heron, user=world.alice)
    team = world.join(world.alice, "Alice Lidell")
    assert team.name == "Blue Heron"
    with pytest.raises(Refused, match="The organizers gave you this name"):
        membership.rename_team(team=team, user=world.alice, name="Alice")


def test_nobody_else_takes_an_alias(world: World, heron: Invitee) -> None:
    assert refused(lambda: world.join(world.bob, "BLUE HERON")) == "team_name_taken"
    team = world.join(world.bob)
    rename: dict[str, Any] = {"team": team, "user": world.bob, "name": "blue heron"}
    assert refused(lambda: membership.rename_team(**rename)) == "team_name_taken"


# --- Join code and domains ------------------------------------------------------------------------


def test_the_code_lets_people_in_until_it_is_renewed_or_off(
    world: World, closed: Competition
) -> None:
    code = entry.renew_join_code(closed, by=world.organizer)
    assert refused(lambda: enter(world.alice, closed, "WRONG")) == "wrong_code"
    enter(world.alice, closed, f" {code.lower().replace('-', '')} ")
    assert sees(world.alice, closed)
    newer = entry.renew_join_code(closed, by=world.organizer)
    assert newer != code
    assert refused(lambda: enter(world.bob, closed, code)) == "wrong_code"
    entry.switch_off_join_code(closed, by=world.organizer)
    for given in (newer, "", "-"):
        assert refused(lambda given=given: enter(world.bob, closed, given)) == "wrong_code"
    assert world.join(world.alice).captain == world.alice


def enter(user: User, competition: Competition, code: str) -> None:
    admission.enter_code(competition=competition, user=user, code=code)


def test_codes_are_told_to_nobody_by_events(world: World) -> None:
    code = entry.renew_join_code(world.digits, by=world.organizer)
    told = Event.objects.get(kind=EventKind.ACCESS_CHANGED)
    assert (told.data, told.audience) == ({"join_code": "on"}, Audience.ORGANIZERS)
    assert code not in str(Event.objects.values())


def test_a_public_competition_may_ask_for_its_code_too(world: World) -> None:
    code = entry.renew_join_code(world.digits, by=world.organizer)
    assert sees(world.alice, world.digits)
    assert refused(lambda: world.join(world.alice)) == "code"
    enter(world.alice, world.digits, code)
    assert world.join(world.alice).captain == world.alice


def test_a_team_s_link_leads_past_neither_code_nor_domain(world: World) -> None:
    team = world.join(world.alice)
    link = membership.invite(team=team, user=world.alice)
    entry.change_mail_domains(world.digits, ["uni.example"], by=world.organizer)
    join: dict[str, Any] = {"invitation": link, "user": world.bob, "accept_rules": True}
    assert refused(lambda: membership.join_team(**join)) == "domain"
    confirm(world.bob, "bob@uni.example")
    assert membership.join_team(**join) == team


@pytest.mark.parametrize(
    ("address", "verified", "is_in"),
    [
        ("a@uni.example", True, True),
        ("A@UNI.EXAMPLE", True, True),
        ("a@uni.example", False, False),
        ("a@student.uni.example", True, False),
        ("a@notuni.example", True, False),
        ("a@uni.example.org", True, False),
    ],
)
def test_confirmed_addresses_of_a_domain_see_a_competition_and_join(
    world: World, closed: Competition, address: str, verified: bool, is_in: bool
) -> None:
    entry.change_mail_domains(closed, [" @Uni.Example. "], by=world.organizer)
    confirm(world.alice, address, verified=verified)
    assert sees(world.alice, closed) == is_in
    if is_in:
        assert world.join(world.alice).captain == world.alice
    else:
        assert refused(lambda: world.join(world.alice)) == "domain"


def test_with_code_and_domains_both_are_asked_for(world: World, closed: Competition) -> None:
    entry.change_mail_domains(closed, ["uni.example"], by=world.organizer)
    code = entry.renew_join_code(closed, by=world.organizer)
    confirm(world.alice, ADA)
    assert not sees(world.alice, closed)
    assert refused(lambda: enter(world.bob, closed, code)) == "domain"
    enter(world.alice, closed, code)
    assert sees(world.alice, closed)


def test_who_was_invited_in_person_needs_neither_code_nor_domain(
    world: World, closed: Competition
) -> None:
    entry.change_mail_domains(closed, ["uni.example"], by=world.organizer)
    entry.renew_join_code(closed, by=world.organizer)
    invite(world, "bob")
    assert world.join(world.bob).captain == world.bob


@pytest.mark.parametrize("domain", ["uni", "*.uni.example", "a b.example", "x" * 64 + ".example"])
def test_a_domain_is_one(world: World, domain: str) -> None:
    assert refused(
        lambda: entry.change_mail_domains(world.digits, [domain], by=world.organizer)
    ) == "bad_domains"  # fmt: skip


def test_a_code_opens_no_draft_and_nothing_hidden(world: World) -> None:
    draft = make_competition("draft", world.organizer)
    organize.return_to_draft(draft, by=world.organizer)
    entry.renew_join_code(draft, by=world.organizer)
    entry.renew_join_code(world.digits, by=world.organizer)
    assert access.entrance("draft") is None
    assert access.entrance("digits") == world.digits
    Competition.objects.update(visibility=Visibility.HIDDEN)
    assert access.entrance("digits") is None
    assert not access.visible_competitions(AnonymousUser()).exists()
