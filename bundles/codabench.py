"""Codabench's bundles: `competition.yaml`, version 2, with its pages, phases and tasks.

Texts, times, limits, phases and columns of the leaderboard are carried over. Programs are not even
unpacked: metrics are known by the names of the columns. Whatever has no counterpart is listed.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from bundles.bundle import LONGEST_TEXT, BoardPart, Bundle, FilePart, RoundPart
from bundles.documents import read_yaml
from bundles.errors import BundleError, fail
from bundles.folders import Folder, Limits, open_zip, why_bad_name
from bundles.markdown import from_html
from bundles.metric_names import find_metric, for_classes, kind_for, similar
from bundles.tables import USAGE, Table, default_metric, guess_column, make_sample, read_table

NAMES: Final = ("competition.yaml", "competition.yml")
_READ: Final = {"version", "title", "description", "terms", "pages", "phases", "tasks"} | {
    *("leaderboards", "registration_auto_approve"),
}
_LOST: Final = {
    "image": "the logo",
    "docker_image": "the Docker image",
    "queue": "the queue of compute workers",
    "solutions": "sample solutions",
    "fact_sheet": "the fact sheet of submissions",
    "contact_email": "the contact address (write it on a page)",
    "reward": "the reward (write it on a page)",
    "forum_enabled": "the forum",
}
_PHASE_READ: Final = {"index", "name", "description", "start", "end", "tasks", "task"} | {
    *("max_submissions", "max_submissions_per_day", "starting_kit", "public_data"),
    *("auto_migrate_to_this_phase", "accepts_only_result_submissions"),
}
_VERSION: Final = re.compile(rb"^version:", re.MULTILINE)
_FORMATS: Final = (
    *("%m-%d-%Y", "%m/%d/%Y", "%Y/%m/%d", "%m-%d-%Y %H:%M", "%m/%d/%Y %H:%M"),
    *("%m-%d-%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S"),
)


def is_codabench(folder: Folder) -> bool:
    """Return whether the folder is such a bundle."""
    return any(name in folder for name in NAMES)


def read_codabench(folder: Folder) -> Bundle:
    """Return the competition that a bundle holds. Raises BundleError."""
    name = next(each for each in NAMES if each in folder)
    content = folder.read(name)
    try:
        value = read_yaml(content, name).value
    except BundleError:
        if _VERSION.search(content):
            raise
        value = {}  # CodaLab's older bundles have anchors: what matters is that it is one of them
    if not isinstance(value, dict):
        raise fail(name, "Title, pages, tasks, phases and leaderboards were expected.")
    version = value.get("version")
    if str(version) != "2":
        told = "has no version" if version is None else f"is of version {version}"
        raise fail(
            name,
            f"The bundle {told}; version 2, Codabench's own, is read here. Older bundles of "
            "CodaLab can be uploaded to Codabench, which gives them back in version 2.",
        )
    try:
        return _Reader(name, value, folder).bundle()
    except (AttributeError, KeyError, TypeError) as error:
        what = (
            f"It is not built as Codabench's documentation tells ({type(error).__name__}: {error})."
        )
        raise fail(name, what) from None


@dataclass
class _Reader:
    name: str
    value: dict[str, Any]
    folder: Folder
    lost: dict[str, None] = field(default_factory=dict)
    made: dict[str, bytes] = field(default_factory=dict)

    def bundle(self) -> Bundle:
        value = self.value
        title = str(value.get("title") or "").strip()
        if not title:
            raise fail(self.name, "“title” is missing.")
        settings: dict[str, Any] = {"title": title[:120]}
        tagline = " ".join(str(value.get("description") or "").split())
        settings["tagline"] = tagline[:200]
        if len(tagline) > 200 or len(title) > 120:
            self._tell("Title and description are cut to 120 and 200 characters.")
        if not value.get("registration_auto_approve", False):
            settings["visibility"] = "invited"
            self._tell(
                "Registrations were approved by hand: the competition is seen by invited people "
                "alone. Invite them, or make it public, on the page Settings."
            )
        texts, tasks = self._texts(), self._tasks()
        rounds = tuple(self._rounds(tasks))
        self._tell(*(f"Not carried over: {what}." for what in self._without_counterpart()))
        folder = Folder(
            {**self.folder.sizes, **{name: len(each) for name, each in self.made.items()}},
            lambda name: self.made[name] if name in self.made else self.folder.reader(name),
        )
        return Bundle("", settings, texts, rounds, folder, tuple(self.lost), "Codabench")

    def _tell(self, *lost: str) -> None:
        """Note what is lost, each thing once."""
        self.lost |= dict.fromkeys(lost)

    def _without_counterpart(self) -> Iterator[str]:
        for key, given in self.value.items():
            if key not in _READ and given not in (None, False, []):
                yield _LOST.get(key, f"“{key}”")

    def _texts(self) -> dict[str, str]:
        """Return the pages: the terms are the rules, one called Data is the data page."""
        texts = dict[str, str]()
        if terms := self.value.get("terms"):
            texts["rules"] = self._page(str(terms))
        parts = list[str]()
        for page in self.value.get("pages") or ():
            heading, text = str(page.get("title") or ""), self._page(str(page["file"]))
            if "data" in heading.casefold().split() and "data" not in texts:
                texts["data"] = text
            else:
                parts.append(text if not parts else f"## {heading}\n\n{text}")
        texts["overview"] = "\n\n".join(parts)
        for name, text in texts.items():
            if len(text) > LONGEST_TEXT:
                texts[name] = text[:LONGEST_TEXT]
                self._tell(f"The {name} page is cut to {LONGEST_TEXT:,} characters.")
        return texts

    def _page(self, path: str) -> str:
        content = self.folder.read(self._path(path))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise fail(path, "It is not encoded in UTF-8.") from None
        if path.casefold().endswith((".html", ".htm")):
            self._tell(f"{path} is HTML: its text and links are kept, its layout is not.")
            return from_html(text)
        return text.replace("\0", "")

    def _path(self, path: str) -> str:
        clean = path.strip().removeprefix("./").rstrip("/")
        if why := why_bad_name(clean):
            raise fail(self.name, f"“{path[:80]}”: {why}")
        return clean

    def _tasks(self) -> dict[Any, dict[str, Any]]:
        tasks = {task["index"]: task for task in self.value.get("tasks") or ()}
        if not tasks:
            raise fail(self.name, "“tasks” is missing: they hold the reference data.")
        for task in tasks.values():
            called = task.get("name") or task["index"]
            if "key" in task:
                self._tell(
                    f"Task {called} is stored at Codabench alone: upload its solution yourself."
                )
            if task.get("scoring_program"):
                self._tell(
                    f"The scoring program of task {called} is never run: Holdfast's own metrics "
                    "score files of predictions."
                )
            if task.get("ingestion_program"):
                self._tell(
                    f"Task {called} takes code, by an ingestion program. Holdfast takes files of "
                    "predictions."
                )
        return tasks

    def _rounds(self, tasks: dict[Any, dict[str, Any]]) -> Iterator[RoundPart]:
        phases = self.value.get("phases")
        if not phases:
            raise fail(self.name, "“phases” is missing.")
        before: Any = None
        for number, phase in enumerate(sorted(phases, key=lambda each: each.get("index") or 0)):
            called = str(phase.get("name") or f"Phase {number + 1}")
            own = phase.get("tasks") or [phase[key] for key in ("task",) if key in phase]
            if not own or own[0] not in tasks:
                raise fail(self.name, f"Phase {called} names no task that there is.")
            if len(own) > 1:
                self._tell(
                    f"Phase {called} has {len(own)} tasks: the first one is carried over. Others "
                    "are competitions of their own here."
                )
            self._tell(
                *(
                    f"“{key}” of phase {called} has no counterpart."
                    for key in phase
                    if key not in _PHASE_READ
                )
            )
            if phase.get("auto_migrate_to_this_phase"):
                self._tell(f"Submissions are not sent again to phase {called} by themselves.")
            settings = self._settings(phase, called)
            if number and own[0] == before:
                boards = tuple(self._boards(None, 0))
                yield RoundPart(boards, called, continues=True, settings=settings)
            else:
                yield self._own_rows(tasks[own[0]], phase, called, settings, number + 1)
            before = own[0]

    def _settings(self, phase: dict[str, Any], called: str) -> dict[str, Any]:
        settings: dict[str, Any] = {"opens_at": self._moment(phase.get("start"), called)}
        if phase.get("end"):
            end: datetime = self._moment(phase["end"], called)
            if end <= settings["opens_at"]:
                end = settings["opens_at"] + timedelta(days=1)
                self._tell(f"Phase {called} ends as it starts: it is given a day.")
            settings["closes_at"] = end
        limits = {"daily_limit": "max_submissions_per_day", "total_limit": "max_submissions"}
        for name, key in limits.items():
            if phase.get(key):
                settings[name] = max(1, int(phase[key]))
        if {"daily_limit", "total_limit"} & settings.keys():
            self._tell("Limits counted for each person at Codabench; here for each team.")
        return settings

    def _moment(self, given: object, called: str) -> datetime:
        text = str(given or "").strip()
        found: datetime | None = None
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            for each in _FORMATS:
                try:
                    found = datetime.strptime(text, each)  # noqa: DTZ007  (UTC below)
                except ValueError:
                    continue
        if found is None:
            raise fail(
                self.name,
                f"Phase {called}: “{text[:40]}” is no moment such as 2027-01-31 12:00:00.",
            )
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    def _own_rows(
        self,
        task: dict[str, Any],
        phase: dict[str, Any],
        called: str,
        settings: dict[str, Any],
        number: int,
    ) -> RoundPart:
        files = list[FilePart]()
        for key in ("public_data", "starting_kit"):
            files += self._files(phase.get(key), "train" if key == "public_data" else "other")
        files += self._files(task.get("input_data"), "test")
        found = self._reference(task)
        columns: list[dict[str, Any]] = []
        schema, solution = None, ""
        if found is not None:
            path, content, table = found
            wanted = [name for name in table.names[1:] if name.casefold() not in USAGE]
            metrics = [metric for _, metric in self._known_columns() if metric]
            kind = kind_for(metrics[0]) if metrics else ""
            columns = [
                {"name": name, "kind": kind}
                if kind in ("probability", "number")
                else guess_column(name, table.columns[name])
                for name in wanted
            ]
            schema = {"id_column": table.id_column, "columns": columns}
            solution = path
            if path not in self.folder:
                self.made[path] = content
            sample = f"round-{number}/sample_submission.csv"
            self.made[sample] = make_sample(
                table.columns[table.id_column], table.id_column, columns
            )
            files.append(FilePart(sample, "sample"))
            self._tell(
                f"A sample submission is made for phase {called}, from the ids of its reference "
                "data. Every row becomes Private unless it says otherwise in a column Usage."
            )
            kinds = ", ".join(f"{each['name']} ({each['kind']})" for each in columns)
            self._tell(f"To be predicted in phase {called}: {kinds}. Check this.")
        else:
            self._tell(
                f"The reference data of phase {called} are no CSV file with a header, ids and "
                "labels: set columns, sample and solution on the tab Data."
            )
        by_name = dict[str, FilePart]()
        for each in files:
            by_name.setdefault(each.path.rpartition("/")[2], each)
        classes = max((len(each.get("classes", ())) for each in columns), default=0)
        boards = tuple(self._boards(columns, classes))
        return RoundPart(boards, called, False, settings, schema, tuple(by_name.values()), solution)

    def _files(self, path: object, role: str) -> Iterator[FilePart]:
        if path:
            for name in self.folder.below(self._path(str(path))):
                yield FilePart(name, role)

    def _reference(self, task: dict[str, Any]) -> tuple[str, bytes, Table] | None:
        """Return the only table of the reference data with ids and labels, and its path."""
        if not task.get("reference_data"):
            return None
        path = self._path(str(task["reference_data"]))
        found = list[tuple[str, bytes, Table]]()
        for name in self.folder.below(path):
            if name.endswith(".zip"):
                inner = open_zip(io.BytesIO(self.folder.read(name)), Limits(unpacked=512_000_000))
                candidates = [(f"{name}/{each}", inner, each) for each in inner.names]
            else:
                candidates = [(name, self.folder, name)]
            for shown, folder, each in candidates:
                if each.endswith(".csv"):
                    content = folder.read(each)
                    if table := _labels(content, each):
                        found.append((shown, content, table))
        return found[0] if len(found) == 1 else None

    def _known_columns(self) -> list[tuple[dict[str, Any], str]]:
        """Return the columns of the first leaderboard in order, with the metric of each."""
        leaderboards = self.value.get("leaderboards") or ()
        if not leaderboards:
            raise fail(self.name, "“leaderboards” is missing.")
        board = leaderboards[0]
        columns = sorted(board.get("columns") or (), key=lambda each: each.get("index") or 0)
        primary = board.get("primary_index")
        columns.sort(key=lambda each: each.get("index") != primary)
        return [
            (each, "" if each.get("computation") else find_metric(*_names(each)))
            for each in columns
        ]

    def _boards(self, columns: list[dict[str, Any]] | None, classes: int) -> Iterator[BoardPart]:
        """Yield a board for each column whose metric is known; one that suits where none is."""
        if len(self.value["leaderboards"]) > 1:
            self._tell("Only the first leaderboard is carried over.")
        taken = list[str]()
        for column, known in self._known_columns():
            title, metric = _names(column)[1], for_classes(known, classes)
            if not known:
                self._miss(column, title)
            elif taken and kind_for(metric) != kind_for(taken[0]):
                self._tell(f"Column {title} reads another kind of prediction than {taken[0]}.")
            elif metric in taken:
                self._tell(f"Column {title} would be {metric} a second time.")
            else:
                taken.append(metric)
                self._tell(f"Column {title} becomes {metric}: check that it means the same.")
                yield BoardPart(metric, title=title[:120])
        if not taken:
            metric = default_metric(columns) if columns else "accuracy"
            self._tell(f"No column's metric is known: {metric} is set. Choose yours.")
            yield BoardPart(metric)

    def _miss(self, column: dict[str, Any], title: str) -> None:
        if column.get("computation"):
            self._tell(f"Column {title} is computed from others; columns here are metrics.")
            return
        close = similar(title) or similar(_names(column)[0])
        choose = f"choose {' or '.join(close)}, or another" if close else "choose one"
        self._tell(
            f"Column {title} is no metric that is known here by this name: {choose} on the page "
            "Scoring (docs/metrics.md lists them)."
        )


def _names(column: dict[str, Any]) -> tuple[str, str]:
    """Return key and title of a column."""
    key = str(column.get("key") or column.get("title") or "")
    return key, str(column.get("title") or key)


def _labels(content: bytes, name: str) -> Table | None:
    """Return a table whose first column names rows and that has others; None for any other."""
    try:
        table = read_table(content, name)
    except BundleError:
        return None
    ids = table.columns[table.id_column]
    named = all(re.search(r"[^\W\d]", each) for each in table.names)
    return table if named and len(table.names) > 1 and ids and len(set(ids)) == len(ids) else None
