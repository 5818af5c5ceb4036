"""The guarantee of a board in words."""

from django import template

from leaderboard import queries, words

register = template.Library()
register.filter("sentence", words.board_guarantee)
register.filter("questions", words.questions)
register.filter("wear", queries.wear)
