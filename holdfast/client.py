"""The client: `holdfast.Client` for a server, `Competition` for what one does in a competition.

    hf = holdfast.Client()                     # as `holdfast login` or the environment says
    c = hf.competition("digits")
    c.join(team="Blue", accept_rules=True)
    c.download("data")
    r = c.submit(table, message="trees", wait=True)
    r.status, r.score

The command line does what it does through this module. Errors are those of `holdfast.errors`, with
the API's codes.
"""

from __future__ import annotations

import warnings
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar
from urllib.parse import quote

from holdfast import checking, config, output
from holdfast.connection import PAGE_SIZE, SLUG, Connection, Json, competition_path, connect
from holdfast.download import download, files_of, local_name
from holdfast.errors import Failure, Refused
from holdfast.frames import Labels, Predictions, as_upload
from holdfast.measuring import Measured
from holdfast.records import (
    Account,
    Announcement,
    Board,
    BoardRow,
    Comparison,
    File,
    FinalRow,
    Gate,
    Info,
    Notice,
    Person,
    Record,
    Rows,
    Selection,
    Submission,
    Summary,
    Team,
    TeamPage,
)
from holdfast.teams import TeamActions
from holdfast.waiting import WAIT_SECONDS
from holdfast.waiting import wait as wait_for

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import numpy as np
    from numpy.typing import NDArray

R = TypeVar("R", bound=Record)
LONGEST_BOARD = 250_000_000  # bytes of CSV: a million teams and more


class SubmissionWarning(UserWarning):
    """Something about a submission that was sent."""


class SentBefore(SubmissionWarning):
    """A file that the team has sent already is sent again."""


class NoReceipt(SubmissionWarning):
    """A submission's receipt is wrong, or could not be kept."""


class Client:
    """A server, and the account that a token belongs to. It can be used as a context manager.

    url, token: where left out, those of HOLDFAST_URL and HOLDFAST_TOKEN, then those that
    `holdfast login` stored. progress: whether uploads and downloads show a bar, in a terminal or a
    notebook.
    """

    def __init__(self, url: str = "", token: str = "", *, progress: bool = True) -> None:
        """Connect to nothing yet; the first request does. Raises Failure where no server is set."""
        self.connection: Connection = connect(url, token)
        self.progress = progress

    @classmethod
    def sign_in(
        cls,
        url: str,
        username: str,
        password: str,
        *,
        scopes: Iterable[str] = (),
        name: str = "",
    ) -> Self:
        """Return a client with a new token, which may read and submit unless scopes are given.

        name: what the token is called on the account page.
        """
        body: Json = {"username": username, "password": password}
        body |= {"scopes": list(scopes), "name": name} if scopes else {}
        settings = config.Settings(config.clean_url(url))
        with Connection(settings) as connection:
            answer = connection.send("POST", "auth/login/", json=body)
        client = cls(settings.url, str(answer["token"]))
        client.connection.settings = replace(
            client.connection.settings, username=str(answer["username"])
        )
        return client

    def sign_out(self) -> None:
        """Revoke the token."""
        self.connection.send("POST", "auth/logout/", json={})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()

    def __repr__(self) -> str:
        return f"<holdfast.Client: {self.url}>"

    @property
    def url(self) -> str:
        """Return the server's address."""
        return self.connection.settings.url

    @property
    def token(self) -> str:
        """Return the token; empty where there is none."""
        return self.connection.settings.token

    def me(self) -> Account:
        """Return who is signed in, and in which teams."""
        return Account.read(self.connection.get("me/"))

    def competitions(
        self, search: str = "", *, page: int | None = None, page_size: int = PAGE_SIZE
    ) -> Rows[Summary]:
        """Return the competitions that you may see: all, or one page of them."""
        return self.rows(Summary, "competitions/", page=page, page_size=page_size, search=search)

    def notices(
        self, *, unread: bool = False, page: int | None = None, page_size: int = PAGE_SIZE
    ) -> Rows[Notice]:
        """Return your inbox, the newest first; with `unread`, what you have not read."""
        only = "true" if unread else ""
        return self.rows(Notice, "me/notices/", page=page, page_size=page_size, unread=only)

    def mark_read(self, notices: Iterable[Notice] | None = None) -> int:
        """Mark notices as read, all if left out; return how many are left to read."""
        body = {} if notices is None else {"ids": [notice.id for notice in notices]}
        return int(self.connection.send("POST", "me/notices/read/", json=body)["count_unread"])

    def team(self, uid: str) -> TeamPage:
        """Return a team as others see it, by its permanent id (`team_uid` of a board's row)."""
        return TeamPage.read(self.connection.get(f"teams/{quote(uid, safe='')}/"))

    def person(self, username: str) -> Person:
        """Return a person as others see them: competitions, and final places."""
        return Person.read(self.connection.get(f"people/{quote(username, safe='')}/"))

    def competition(self, slug: str = "") -> Competition:
        """Return a competition by its short name; the default one where it is left out.

        Nothing is asked of the server yet.
        """
        slug = slug or config.default_competition()
        if not SLUG.fullmatch(slug):
            raise Failure(
                f"{slug!r} is no competition's short name." if slug else "Name a competition.",
                hint="`holdfast config set -n competition -v digits` sets a default one.",
            )
        return Competition(self, slug)

    def rows(
        self,
        kind: type[R],
        path: str,
        *,
        page: int | None = None,
        page_size: int = PAGE_SIZE,
        **params: str,
    ) -> Rows[R]:
        """Return a list of the API, all of it or a page; empty params are left out."""
        given = {name: value for name, value in params.items() if value}
        found: list[Json] = []
        first: Json = {}
        for number in count(page or 1):
            answer = self.connection.get(path, **given, page=number, page_size=page_size)
            first = first or answer
            found += answer["results"]
            if page is not None or not answer["results"] or not answer.get("next"):
                break
        return Rows(map(kind.read, found), int(first.get("count", len(found))), first)


class Competition(TeamActions):
    """What a participant reads and does in a competition."""

    def __init__(self, client: Client, slug: str) -> None:
        """Ask nothing of the server yet."""
        self.client = client
        self.slug = slug

    def __repr__(self) -> str:
        return f"<holdfast.Competition: {self.slug} at {self.client.url}>"

    @property
    def url(self) -> str:
        """Return the address of its page."""
        return f"{self.client.url}/c/{self.slug}/"

    def info(self) -> Info:
        """Return texts, times, limits, columns and the mechanism's facts."""
        return Info.read(self._get())

    def rules(self) -> str:
        """Return the rules, as Markdown."""
        return self.info().rules

    def announcements(self) -> Rows[Announcement]:
        """Return what the organizers announced, the newest first."""
        return self._rows(Announcement, "announcements")

    def join(self, team: str = "", *, invitation: str = "", accept_rules: bool = False) -> Team:
        """Accept the rules, and create a team or follow an invitation to one.

        team: its name; your own name if left out. Raises Failure unless the rules are accepted.
        """
        if team and invitation:
            raise Failure("The inviting team has a name already: leave `team` out.")
        if not accept_rules:
            raise Failure(
                "Joining takes accepting the rules: read them with `rules()`, then give "
                "`accept_rules=True`."
            )
        fields = {"team_name": team, "invitation": invitation.rstrip("/").rpartition("/")[2]}
        body: Json = {name: value for name, value in fields.items() if value}
        return Team.read(self._send("POST", "join", json={"accept_rules": True, **body}))

    def team(self, *, rename: str = "") -> Team:
        """Return your team and what it may still submit, after giving it a new name if wanted."""
        if rename:
            return Team.read(self._send("PATCH", "team", json={"name": rename}))
        return Team.read(self._get("team"))

    def files(self) -> Rows[File]:
        """Return the files to download."""
        return Rows(map(File.read, files_of(self.client.connection, self.slug)))

    def download(
        self, folder: str | PathLike[str] = ".", *, file: str = "", force: bool = False
    ) -> dict[Path, bool]:
        """Download all files, or one; return their paths, each with whether it is new.

        A file that is there and unchanged is left alone, a broken download resumes where it
        stopped. Raises Failure for one that differs, unless `force` replaces it.
        """
        entries = files_of(self.client.connection, self.slug)
        chosen = [entry for entry in entries if file in ("", entry["name"])]
        if not chosen:
            names = ", ".join(str(entry["name"]) for entry in entries)
            unknown = f"{self.slug} has no file named {file!r}. Its files: {names}."
            raise Failure(unknown if names else f"{self.slug} has no files yet.")
        found = {}
        for entry in chosen:
            path = Path(folder) / local_name(str(entry["name"]))
            with output.progress(path.name, int(entry["size"]), self._quiet) as advance:
                found[path] = download(
                    self.client.connection,
                    self.slug,
                    entry,
                    path.parent,
                    force=force,
                    advance=advance,
                )
        return found

    def submit(
        self,
        predictions: Predictions,
        *,
        message: str = "",
        claim: float | None = None,
        campaign: str = "",
        gate: str = "",
        wait: bool | float = False,
        poll_interval: float = 2.0,
        warn_repeats: bool = True,
    ) -> Submission:
        """Send predictions, and return the submission; with `wait`, once it is scored.

        predictions: a file's path or its bytes, a data frame of pandas or polars, or an array of
        NumPy or a list with a row for each of the sample submission, in its order. claim: the score
        that you expect, where the competition asks for it. campaign: the name of one of your
        team's. gate: the name of the gate that answers in place of the board. wait: True, or the
        most seconds.
        Warns (SentBefore) about a file that your team has sent before, unless `warn_repeats` is
        False, which saves a request, or a gate is asked, which says so by itself. A file that turns
        out to be wrong comes back as `rejected`, with its `problems`; waiting too long raises
        StillWaiting.
        """
        upload = as_upload(predictions, lambda: self._rules)
        warns = warn_repeats and not gate
        same = self.sent_before(upload.sha256) if warns else None
        if same is not None:
            warnings.warn(
                f"{upload.name} has the same content as your team's submission {same}. Its answer "
                "will be the same.",
                SentBefore,
                stacklevel=2,
            )
        fields = {"message": message} | ({} if claim is None else {"claimed_score": repr(claim)})
        fields |= {"campaign": campaign} if campaign else {}
        fields |= {"gate": gate} if gate else {}
        with (
            output.progress(f"Sending {upload.name}", upload.size, self._quiet) as advance,
            closing(upload.open()) as file,
        ):
            files = {"file": (upload.name, _Counted(file, advance), "text/csv")}
            sent = self._send("POST", "submissions", data=fields, files=files)
        found = Submission.read(sent)
        self._keep_receipt(found, upload.sha256)
        if wait is False:
            return found
        return self.wait(found, WAIT_SECONDS if wait is True else wait, poll_interval)

    def _keep_receipt(self, sent: Submission, sha256: str) -> None:
        """Keep the receipt, for `holdfast verify`; what is wrong with it undoes no submission."""
        if not sent.receipt:
            return
        from holdfast.logs import Store
        from scoring.verification.differences import Differs

        try:
            receipt = Store(self.client.url, self.slug).keep_receipt(sent.receipt)
            if receipt.sha256 != sha256:
                problem = f"The receipt is for another file, of SHA-256 {receipt.sha256}."
                warnings.warn(problem, NoReceipt, stacklevel=3)
        except (Differs, OSError) as error:
            warnings.warn(f"The receipt could not be kept: {error}", NoReceipt, stacklevel=3)

    def sent_before(self, sha256: str) -> int | None:
        """Return the number of the team's first submission of a file with this digest, if any.

        None as well where the server doesn't tell: to a token that may submit but not read.
        """
        try:
            found = self.submissions(search=sha256)
        except Refused:
            return None
        return min((each.number for each in found if each.sha256 == sha256), default=None)

    def wait(
        self,
        submission: Submission | int,
        seconds: float = WAIT_SECONDS,
        poll_interval: float = 2.0,
    ) -> Submission:
        """Return a submission once it is scored, rejected or failed. Raises StillWaiting."""
        if isinstance(submission, int):
            submission = self.submission(submission)
        number = submission.number
        found = wait_for(
            self.client.connection,
            submission.json,
            competition_path(self.slug, "submissions", number),
            f"Submission {number}",
            f"To look at it later, run `holdfast submission {self.slug} {number}`.",
            seconds=seconds,
            interval=poll_interval,
        )
        return Submission.read(found)

    def submissions(
        self,
        *,
        search: str = "",
        status: str = "",
        campaign: str = "",
        sort: str = "newest",
        page: int | None = None,
        page_size: int = PAGE_SIZE,
    ) -> Rows[Submission]:
        """Return your team's submissions: all, or one page of them.

        search: a part of a note or file name, a number, or the beginning of a SHA-256.
        status: only those that are `released`, `rejected`, `failed`, `queued` or `scoring`.
        campaign: only those of this one, by its name.
        sort: `newest`, `oldest`, `score` (the best first) or `file` (by name).
        """
        asked = {"search": search, "status": status, "campaign": campaign, "sort": sort}
        return self._rows(Submission, "submissions", page=page, page_size=page_size, **asked)

    def submission(self, number: int) -> Submission:
        """Return one of your team's submissions."""
        return Submission.read(self._get("submissions", number))

    def edit_message(self, number: int, message: str) -> Submission:
        """Replace the note that your team keeps with a submission."""
        body = {"message": message}
        return Submission.read(self._send("PATCH", "submissions", number, json=body))

    def compare(self, a: int, b: int) -> Comparison:
        """Return how many predictions of two of your team's submissions differ, by column."""
        return Comparison.read(self._get("submissions", "compare", a=a, b=b))

    def board(
        self, search: str = "", *, page: int | None = None, page_size: int = PAGE_SIZE
    ) -> Board[BoardRow]:
        """Return the leaderboard, all of it or a page, with its guarantee and your own row."""
        found = self._rows(BoardRow, "leaderboard", page=page, page_size=page_size, search=search)
        return Board(found, found.total, found.about)

    def final_board(
        self, search: str = "", *, page: int | None = None, page_size: int = PAGE_SIZE
    ) -> Board[FinalRow]:
        """Return the final board, once it is revealed."""
        found = self._rows(FinalRow, "final", page=page, page_size=page_size, search=search)
        return Board(found, found.total, found.about)

    def save_board(self, path: str | PathLike[str], *, final: bool = False) -> Path:
        """Save the whole board as the CSV file that the website has; return its path."""
        address = competition_path(self.slug, "final" if final else "leaderboard")
        self.client.connection.save(address, Path(path), LONGEST_BOARD, format="csv")
        return Path(path)

    def gates(self) -> Rows[Gate]:
        """Return the gates of the current round."""
        return self._rows(Gate, "gates")

    def gate(self, name: str) -> Gate:
        """Return a gate by its name."""
        return Gate.read(self._get("gates", name))

    def selection(self) -> Selection:
        """Return what your team enters for the final scores."""
        return Selection.read(self._get("finals"))

    def select(self, numbers: Iterable[int]) -> Selection:
        """Enter these submissions, and no others; none leaves it to your best score."""
        body = {"numbers": list(numbers)}
        return Selection.read(self._send("PUT", "finals", json=body))

    def check(self, predictions: Predictions) -> int:
        """Check predictions on this machine, by the server's own parser; return how many rows.

        Nothing is sent or counted. Raises Rejected, with `problems`, for what the server would
        reject, and NotInstalled without `holdfast[science]`.
        """
        checking.require("Checking here", "scoring.predictions")
        upload = as_upload(predictions, lambda: self._rules)
        with upload.open() as file:
            return checking.read(file, self._rules, upload.name).rows

    def evaluate(self, labels: Labels, predictions: Predictions) -> float:
        """Return the score of predictions for your own labels, by the competition's metric.

        labels, predictions: files or data frames with the competition's columns, or arrays in the
        same order. Exactly what the server would measure if these were the hidden rows.
        """
        return Measured.of(self._get(), labels, predictions).score

    def losses(self, labels: Labels, predictions: Predictions) -> NDArray[np.float64]:
        """Return the loss of each of your own rows, from 0 to 1: what `holdfast.twin` is asked
        about. Raises Failure for metrics that are no means over rows.
        """
        return Measured.of(self._get(), labels, predictions).losses

    @cached_property
    def _rules(self) -> checking.Rules:
        checking.require("Reading the sample submission", "scoring.predictions")
        return checking.rules_of(self.client.connection, self.slug)

    @property
    def _quiet(self) -> bool:
        return not self.client.progress

    def _get(self, *path: str | int, **params: str | int) -> Json:
        return self.client.connection.get(competition_path(self.slug, *path), **params)

    def _send(self, method: str, *path: str | int, **arguments: Any) -> Json:
        address = competition_path(self.slug, *path)
        return self.client.connection.send(method, address, **arguments)

    def _rows(self, kind: type[R], part: str, **params: Any) -> Rows[R]:
        return self.client.rows(kind, competition_path(self.slug, part), **params)


class _Counted:
    """A file that reports how many bytes were read from it."""

    def __init__(self, file: BinaryIO, advance: output.Advance) -> None:
        self._file, self._advance = file, advance
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._advance(len(data))
        return data
