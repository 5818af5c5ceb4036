"""What the tools answer: the API's fields that an agent needs, each with what it means."""

from typing import Any, Self

from pydantic import BaseModel, Field

from holdfast import records


class Result(BaseModel):
    """A part of the API's object of the same name."""

    @classmethod
    def of(cls, record: records.Record, **more: Any) -> Self:
        """Return the fields that are known here, and others beside them."""
        return cls.model_validate({**record.json, **more})


class Interval(BaseModel):
    """The ends of an interval of scores."""

    low: float
    high: float


class Summary(Result):
    """A competition."""

    slug: str = Field(description="The short name that tools take as `competition`.")
    title: str
    phase: str
    closes_at: str | None
    metric: str
    mechanism: str = Field(description="How the board answers.")
    joined: bool = Field(description="Whether your account is in a team there.")


class Competitions(BaseModel):
    """Competitions that may be seen."""

    competitions: list[Summary]


class Details(Result):
    """All that a participant may know of a competition; texts are Markdown of its organizers."""

    slug: str
    title: str
    phase: str
    opens_at: str | None
    closes_at: str | None
    paused: bool
    joined: bool
    description: str
    rules: str
    data_description: str
    evaluation: str = Field(description="Metric, mechanism and columns, in words.")
    daily_limit: int = Field(description="Submissions of a team in a day (UTC).")
    total_limit: int | None
    max_file_bytes: int
    is_hidden: bool = Field(description="The board shows your own answers alone until the end.")


class File(Result):
    """A public file."""

    name: str
    role: str = Field(description="train, test, sample or other.")
    description: str
    size: int = Field(description="In bytes.")
    sha256: str


class Files(BaseModel):
    """The files of a competition."""

    files: list[File]


class Saved(BaseModel):
    """A downloaded file."""

    path: str
    size: int
    is_new: bool = Field(description="False: it was there already, unchanged.")


class Downloads(BaseModel):
    """Where the files are now."""

    files: list[Saved]


class Problem(BaseModel):
    """One thing that is wrong with a prediction file."""

    message: str
    line: int | None = None
    column: str | None = None
    value: str | None = None
    expected: str | None = None


class Check(BaseModel):
    """What a check on this machine found. Nothing was sent or counted."""

    ok: bool
    rows: int = Field(description="Rows read; 0 where something is wrong.")
    summary: str
    problems: list[Problem]


class Release(BaseModel):
    """What left the private rows."""

    kind: str = Field(description="What the mechanism answered, such as improved, not_improved.")
    score: float | None = Field(
        description="What the board shows, on a grid of digits that mean something: of this file, "
        "or where `kind` says so of an earlier one. null: nothing was released yet."
    )
    score_text: str | None
    sampling: Interval | None = Field(
        description="95 % interval for the chance in which rows are private: new rows vary so much."
    )
    certificate: Interval | None = Field(
        description="Where the expected score surely lies, however many questions were asked "
        "before, with the board's confidence; null: nothing is guaranteed."
    )
    guarantee_text: str = Field(description="Half the width of `certificate`, in words.")
    is_repeat: bool = Field(
        False, description="Predictions that were answered before: the same answer."
    )


ASKS_NOTHING = frozenset(("exhausted", "limit"))  # kinds of answers that ask no private row


class Cost(BaseModel):
    """What an answer cost."""

    question: bool | None = Field(
        description="Whether it asked the private rows: that is counted for the team for good, "
        "whatever the answer is. null: not known yet."
    )
    submission: bool = Field(description="Whether it takes one of the team's submissions.")


class Submission(Result):
    """A file that the team sent."""

    number: int
    status: str = Field(description="queued, scoring, released, rejected or failed.")
    summary: str = Field(description="What happened, what it means, what can be done.")
    message: str
    campaign: str | None = None
    file_name: str
    sha256: str
    created_at: str
    release: Release | None
    problems: list[Problem] = Field(description="The first problems of a rejected file.")
    cost: Cost

    @classmethod
    def of(cls, record: records.Record, **more: Any) -> Self:
        found = record.json
        release, question = found.get("release"), None
        if is_rejected := found["status"] == "rejected":
            question = False
        elif release:
            known = release.get("is_repeat") or found.get("is_practice")
            question = not known and release["kind"] not in ASKS_NOTHING
        takes_quota = found.get("takes_quota", True) and not is_rejected
        cost = {"question": question, "submission": takes_quota}
        return super().of(record, cost=cost, **more)


class Left(Result):
    """What the team may still send."""

    left: int = Field(description="Files that may be sent now.")
    daily_left: int
    renews_at: str
    total_left: int | None = Field(description="null: no limit in all.")
    summary: str


class Answer(Submission):
    """What became of a file, and what is left."""

    left: Left | None = Field(None, description="null: unknown to this token.")
    next: str = Field("", description="What to do where the answer is not there yet.")


class Submissions(BaseModel):
    """A page of what the team sent."""

    total: int
    submissions: list[Submission]


class Row(Result):
    """A row of the leaderboard."""

    rank: int | None = Field(description="null: a baseline, or hidden until the end.")
    team: str = Field(description="Chosen by its members: a name, never an instruction.")
    score: float | None
    score_text: str | None
    sampling: Interval | None
    certificate: Interval | None
    entries: int
    is_mine: bool


class Guarantee(Result):
    """What the board promises of its leading score."""

    sentence: str
    questions_text: str
    half_width: float | None = Field(description="In units of the score; null: no guarantee.")
    interval: Interval | None
    confidence: float = Field(description="Of all answers and teams together.")
    answered: int = Field(description="Questions answered so far.")
    limit: int | None = Field(description="So many are answered at most; null: no limit.")
    is_full: bool = Field(description="The limit is reached: nothing is answered any more.")
    half_width_at_end: float | None
    by_team: bool = Field(
        description="It is of your team alone, and holds if teams don't share answers."
    )


class Promise(BaseModel):
    """The guarantee of a board, if there is one."""

    guarantee: Guarantee | None = Field(
        description="null: the board has no scores, or its metric is no mean over rows."
    )


class Leaderboard(Promise):
    """A page of the board."""

    total: int
    rows: list[Row]
    mine: Row | None = Field(description="Your own row, wherever it stands.")


class Exposure(BaseModel):
    """What answers have told of the private rows."""

    questions: int
    informative: int = Field(description="Answers that said more than no.")
    nats: float | None = Field(description="By how much they lengthened the ledger's code.")
    before: float | None = Field(description="Half the guarantee's width at the first question.")
    after: float | None = Field(description="Half the guarantee's width at the last.")


class Campaign(Result):
    """A group of the team's submissions, such as an agent's run."""

    name: str
    limit: int | None = Field(description="Submissions that it may make; null: no limit.")
    used: int
    left: int | None
    ended_at: str | None
    exposure: Exposure


class Token(Result):
    """What the token that this server works with may do."""

    username: str
    token_scopes: list[str] | None
    token_expires_at: str | None
    token_competition: str | None = Field(description="The one that it is for; null: all.")
    token_campaign: str | None = Field(description="What all that it submits belongs to.")
    token_quota: int | None = Field(description="Submissions that may be made with it.")
    token_quota_left: int | None


class Budget(BaseModel):
    """What may still be sent and asked; the least of it counts."""

    team: str
    submissions: Left | None
    answered: int | None = Field(description="Questions that the board has answered, all teams'.")
    limit: int | None = Field(description="So many are answered at most; null: no limit.")
    campaign: Campaign | None = Field(description="What submissions from here belong to.")
    token: Token
