"""Clients of the cast, and a competition that nobody else knows of."""

from collections.abc import Callable

import pytest
from django.test import Client

from leaderboard.models import User
from tests.cast import World, make_user

SignIn = Callable[[User], Client]


@pytest.fixture
def sign_in() -> SignIn:
    """Make a client with a person's session."""

    def client(user: User) -> Client:
        made = Client()
        made.force_login(user)
        return made

    return client


@pytest.fixture
def organizer(world: World, sign_in: SignIn) -> Client:
    """Sign in the organizer of `world.digits`."""
    return sign_in(world.organizer)


@pytest.fixture
def rival(world: World) -> User:
    """Make another organizer, who has nothing yet."""
    return make_user("rival", is_organizer=True)
