"""Access: what a person may not know of does not exist."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.http import Http404

from leaderboard import access
from leaderboard.models import Visibility
from tests.cast import World, make_user


def _seen_by(world: World) -> set[str]:
    world.join(world.bob)
    carol = make_user("carol")
    world.digits.invited.add(carol)
    people: dict[str, access.Person] = {
        "anonymous": AnonymousUser(),
        "stranger": world.alice,
        "member": world.bob,
        "invited": carol,
        "organizer": world.organizer,
        "other organizer": make_user("other", is_organizer=True),
        "operator": make_user("operator", is_superuser=True),
    }
    return {
        role
        for role, person in people.items()
        if access.visible_competitions(person).filter(pk=world.digits.pk).exists()
    }


def test_everyone_sees_a_public_competition(world: World) -> None:
    assert len(_seen_by(world)) == 7


def test_a_draft_is_its_organizers_alone(world: World) -> None:
    world.digits.opened_by_organizer_at = None
    world.digits.save()
    assert _seen_by(world) == {"organizer", "operator"}


def test_a_competition_for_invited_people_is_theirs_and_the_members(world: World) -> None:
    world.digits.visibility = Visibility.INVITED
    world.digits.save()
    assert _seen_by(world) == {"member", "invited", "organizer", "operator"}


def test_a_hidden_competition_is_its_organizers_alone(world: World) -> None:
    world.digits.visibility = Visibility.HIDDEN
    world.digits.save()
    assert _seen_by(world) == {"organizer", "operator"}


def test_another_team_s_submission_does_not_exist(world: World) -> None:
    alice, bob = world.join(world.alice), world.join(world.bob)
    world.submit(alice)
    assert access.submission_or_404(alice, 1).number == 1
    for team in (bob, None):
        with pytest.raises(Http404):
            access.submission_or_404(team, 1)


def test_files_are_for_those_who_accepted_the_rules(world: World) -> None:
    world.join(world.bob)
    assert access.may_download(world.bob, world.digits)
    assert access.may_download(world.organizer, world.digits)
    assert not access.may_download(world.alice, world.digits)
    assert not access.may_download(AnonymousUser(), world.digits)
