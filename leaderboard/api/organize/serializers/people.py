"""Who may join, who doesn't count, and what a team is given besides."""

from rest_framework import serializers

from leaderboard.api.serializers.base import Body, Out
from leaderboard.models import MailState, SanctionKind
from leaderboard.organize.class_list import ClassList


class PersonItem(Out):
    """Somebody who was invited. Name and address are empty for who may not know them."""

    uid = serializers.CharField()
    name = serializers.CharField()
    email = serializers.CharField()
    alias = serializers.CharField()
    account = serializers.CharField(help_text="Empty: nobody has taken the invitation.")
    team = serializers.CharField()
    mail = serializers.ChoiceField(choices=MailState.choices)
    mail_at = serializers.DateTimeField(allow_null=True)


class People(Out):
    """A page of those who were invited by mail, and the accounts that were let in."""

    count = serializers.IntegerField(source="total")
    page = serializers.IntegerField()
    pages = serializers.IntegerField()
    everybody = serializers.IntegerField(help_text="On the whole list,")
    taken = serializers.IntegerField(help_text="who have an account by now,")
    failed = serializers.IntegerField(help_text="whose mails failed.")
    results = PersonItem(many=True, source="rows")


class InviteBody(Body):
    """People, each by a mail address or the name of an account."""

    people = serializers.ListField(
        child=serializers.CharField(max_length=254), max_length=1000, allow_empty=False
    )


class ClassListBody(Body):
    """A class list."""

    file = serializers.FileField(help_text="CSV with the columns name, mail and alias.")
    send = serializers.BooleanField(required=False, help_text="True: mail the links as well.")
    dry_run = serializers.BooleanField(required=False, help_text="True: add nobody.")


class Invited(Out):
    """How many people were invited, or would be."""

    by_mail = serializers.IntegerField()
    by_account = serializers.IntegerField()
    known = serializers.IntegerField(help_text="Who had been invited before.")


class ListProblem(Out):
    """What is wrong in a line; line 0 is the whole file."""

    line = serializers.IntegerField()
    message = serializers.CharField()


class ClassReport(Out):
    """What a class list adds, and what keeps it from being applied."""

    new = serializers.SerializerMethodField(help_text="People who are added.")
    known = serializers.IntegerField(help_text="Who are on the list already.")
    ignored = serializers.ListField(child=serializers.CharField(), help_text="Columns not read.")
    problems = ListProblem(many=True)
    problem_count = serializers.IntegerField()

    def get_new(self, found: ClassList) -> int:
        return len(found.new)


class AccessBody(Body):
    """Who may join beside those who were invited; what is left out stays as it is."""

    join_code = serializers.ChoiceField(
        choices=("renew", "off"), required=False, help_text="A new code, or none."
    )
    mail_domains = serializers.ListField(
        child=serializers.CharField(max_length=254),
        required=False,
        help_text="Only confirmed addresses of these may join; an empty list: all.",
    )


class Access(Out):
    """Who may join beside those who were invited."""

    join_code = serializers.CharField(help_text="Empty: there is none, or not for you to know.")
    mail_domains = serializers.ListField(child=serializers.CharField())


class SanctionBody(Body):
    """Why a submission doesn't count."""

    reason = serializers.CharField(max_length=1000, help_text="The team reads it.")


class TeamSanctionBody(SanctionBody):
    """Why a team doesn't count, or isn't shown."""

    kind = serializers.ChoiceField(choices=SanctionKind.choices)


class QuotaBody(Body):
    """Files that a team may send beside the limits of all; they replace those given before."""

    daily = serializers.IntegerField()
    total = serializers.IntegerField()


class MergeBody(Body):
    """The team that another one is merged into."""

    into = serializers.CharField(max_length=32, help_text="Its `uid`.")
