"""The class list: every problem with its line, and all or nothing."""

from __future__ import annotations

import pytest

from leaderboard.errors import Refused
from leaderboard.models import Event, EventKind, Invitee, MailState
from leaderboard.organize import class_list
from leaderboard.organize.class_list import ClassList, apply_class_list, check_class_list
from tests.cast import World

GOOD = (
    'name,mail,alias\nAda Lovelace,Ada@Uni.Example,Blue Heron\n"Turing, Alan",alan@uni.example,\n'
)


def checked(world: World, text: str | bytes) -> ClassList:
    content = text if isinstance(text, bytes) else text.encode()
    return check_class_list(world.digits, content, by=world.organizer)


def applied(world: World, text: str, *, send: bool = True) -> ClassList:
    return apply_class_list(world.digits, text.encode(), by=world.organizer, send=send)


def problems(world: World, text: str | bytes) -> list[tuple[int, str]]:
    return [(each.line, each.message) for each in checked(world, text).problems]


def test_a_list_is_previewed_and_then_applied_whole(world: World) -> None:
    shown = checked(world, GOOD)
    assert [(each.line, each.name, each.mail, each.alias) for each in shown.new] == [
        (2, "Ada Lovelace", "ada@uni.example", "Blue Heron"),
        (3, "Turing, Alan", "alan@uni.example", ""),
    ]
    assert not Invitee.objects.exists()
    assert applied(world, GOOD) == shown
    assert set(Invitee.objects.values_list("name", "email", "alias", "mail")) == {
        ("Ada Lovelace", "ada@uni.example", "Blue Heron", "queued"),
        ("Turing, Alan", "alan@uni.example", "", "queued"),
    }
    assert Event.objects.get(kind=EventKind.INVITED).data == {"people": 2}


def test_a_list_without_mails_sends_none(world: World) -> None:
    applied(world, GOOD, send=False)
    assert set(Invitee.objects.values_list("mail", flat=True)) == {MailState.NONE}


@pytest.mark.parametrize(
    "text",
    [
        "﻿name,mail\r\nAda,a@uni.example\r\n",
        "E-Mail;Name;Group\na@uni.example;Ada;3\n",
        "alias\tname\tmail\n\tAda\ta@uni.example\n\n",
        "\n\nname,mail\n\nAda , a@uni.example",
    ],
)
def test_files_as_spreadsheets_write_them_are_read(world: World, text: str) -> None:
    (person,) = checked(world, text).new
    assert (person.name, person.mail) == ("Ada", "a@uni.example")


def test_columns_that_are_not_read_are_named(world: World) -> None:
    assert checked(world, "name,mail,group\nAda,a@uni.example,3").ignored == ("group",)


def test_the_same_list_again_adds_who_is_new(world: World) -> None:
    applied(world, GOOD)
    more = applied(world, GOOD + "Grace,grace@uni.example,\n")
    assert ([each.mail for each in more.new], more.known) == (["grace@uni.example"], 2)


def test_every_problem_is_named_with_its_line(world: World) -> None:
    world.join(world.bob, "Grey Owl")
    applied(world, "name,mail,alias\nGrace,grace@uni.example,Swan\n")
    assert problems(
        world,
        "name,mail,alias\n"
        "Ada,ada@uni.example,Heron\n"
        ",nobody,\n"
        "Eve,,\n"
        "Alan,ADA@uni.example,\n"
        "Kurt,kurt@uni.example,heron\n"
        "Grace H.,grace@uni.example,Crane\n"
        "Emmy,emmy@uni.example,SWAN\n"
        "Sofia,sofia@uni.example,grey owl\n"
        "Short,s@uni.example\n"
        "Long,l@uni.example," + "x" * 61 + "\n",
    ) == [
        (3, "The name is missing."),
        (3, "“nobody” is no mail address."),
        (4, "The mail address is missing."),
        (5, "Line 2 has the same mail address."),
        (6, "Line 2 has the same alias."),
        (7, "The address is on the list already, with another name or alias."),
        (8, "Somebody else on the list has this alias."),
        (9, "A team has this name already: choose another alias."),
        (10, "It has 2 cells, the header 3."),
        (11, "The alias can't be used: A team's name can have at most 60 characters."),
    ]
    assert Invitee.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"", 0, "empty"),
        (b"  \n \n", 0, "empty"),
        (b"name,alias\nAda,Heron", 1, "lacks mail"),
        (b"Ada,ada@uni.example", 1, "lacks name and mail"),
        (b"name,mail,email\nAda,a@uni.example,b@uni.example", 1, "2 columns for mail"),
        ("name,mail\nÅsa,a@uni.example\nJosé,j@uni.example".encode("latin-1"), 2, "not UTF-8"),
        ("name,mail\nAda,a@uni.example".encode("utf-16"), 1, "not UTF-8"),
        (b"name,mail\nA\0da,a@uni.example", 0, "NUL"),
        (b'name,mail\n"Ada,a@uni.example', 2, "can't be read"),
        (b"x" * 2_000_001, 0, "larger than 2 MB"),
    ],
)
def test_a_file_that_is_no_class_list_says_what_is_wrong(
    world: World, content: bytes, line: int, words: str
) -> None:
    found = problems(world, content)
    assert found[0][0] == line
    assert words in found[0][1]


def test_a_wrong_list_adds_nobody(world: World) -> None:
    with pytest.raises(Refused, match=r"1 problem, first line 4: Line 2 has"):
        applied(world, GOOD + "Ada,ada@uni.example,\n")
    assert not Invitee.objects.exists()
    assert not Event.objects.filter(kind=EventKind.INVITED).exists()


def rows(count: int) -> str:
    lines = (f"Person {i},p{i}@uni.example,Alias {i}" for i in range(count))
    return "name,mail,alias\n" + "\n".join(lines)


def test_ten_thousand_people_take_few_queries(
    world: World, django_assert_max_num_queries: object
) -> None:
    with django_assert_max_num_queries(200):  # type: ignore[operator]  # pytest-django's
        applied(world, rows(class_list.MOST_ROWS))
    assert Invitee.objects.filter(mail=MailState.QUEUED).count() == class_list.MOST_ROWS


def test_one_more_is_too_many(world: World) -> None:
    found = checked(world, rows(class_list.MOST_ROWS + 1))
    assert [(each.line, each.message) for each in found.problems] == [
        (10_002, "There are more than 10,000 people.")
    ]


def test_of_very_many_problems_the_first_are_shown_and_all_are_counted(world: World) -> None:
    found = checked(world, "name,mail\n" + "Ada,ada@uni.example\n" * 500)
    assert (len(found.problems), found.problem_count) == (100, 499)
