"""Clients of the cast, and a competition that nobody else knows of."""

from collections.abc import Callable

import pytest
from django.test import Client

from leaderboard.models import User
from tests.cast import World, make_user

SignIn = Callable[[User], Client]


@pytest.fixture
def sign_in() -> SignIn:
    """A client with the person's session; it checks the form's token like a browser does."""

    def client(user: User) -> Client:
        made = Client()
        made.force_login(user)
        return made

    return client


@pytest.fixture
def organizer(world: World, sign_in: SignIn) -> Client:
    """The organizer of `world.digits`, signed in."""
    return sign_in(world.organizer)


@pytest.fixture
def rival(world: World) -> User:
    """Another organizer, with nothing of its own yet."""
    return make_user("rival", is_organizer=True)
