"""Holdfast's own format: `holdfast.yaml`, texts and data, as values and back."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from bundles import shapes
from bundles.documents import Document, Place, read_yaml, write_yaml
from bundles.errors import BundleError, Trouble, fail
from bundles.folders import Folder, why_bad_name
from bundles.schema import SCHEMA, VERSION

NAME: Final = "holdfast.yaml"
LONGEST_TEXT: Final = 40_000
TEXTS: Final = ("overview", "rules", "data")
# Settings of a round, by the names that they have everywhere.
ROUND_SETTINGS: Final = (
    *("opens_at", "closes_at", "daily_limit", "total_limit", "max_file_bytes", "finals_limit"),
    *("question_limit", "team_limit", "nats_limit", "gate_limit", "is_hidden"),
)
_SETTINGS: Final = ("title", "tagline", "visibility", "team_size")


@dataclass(frozen=True)
class BoardPart:
    """How a board scores; without a mechanism it gets the one that is proposed."""

    metric: str
    metric_parameters: dict[str, str] = field(default_factory=dict)
    mechanism: str = ""
    mechanism_parameters: dict[str, str] = field(default_factory=dict)
    title: str = ""


@dataclass(frozen=True)
class FilePart:
    """A public file, named by its path in the bundle."""

    path: str
    role: str
    description: str = ""


@dataclass(frozen=True)
class RoundPart:
    """A round. `settings` are those that are told, `solution` the path of the hidden labels."""

    boards: tuple[BoardPart, ...]
    title: str = ""
    continues: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, Any] | None = None
    files: tuple[FilePart, ...] = ()
    solution: str = ""


@dataclass(frozen=True)
class Bundle:
    """A competition, with the folder that its files are in.

    `texts` has Markdown by page. `lost` says what of the source can't be carried over, in
    sentences; of Holdfast's own bundles that is nothing.
    """

    slug: str
    settings: dict[str, Any]
    texts: dict[str, str]
    rounds: tuple[RoundPart, ...]
    folder: Folder
    lost: tuple[str, ...] = ()
    source: str = "Holdfast"

    @property
    def paths(self) -> Iterator[str]:
        """Return the files that the rounds name."""
        for round in self.rounds:
            yield from (file.path for file in round.files)
            if round.solution:
                yield round.solution


def read_bundle(folder: Folder) -> Bundle:
    """Return the competition that a folder holds. Raises BundleError with all that is wrong."""
    document = read_yaml(folder.read(NAME), NAME)
    _check_version(document)
    if troubles := shapes.find_wrong(document, SCHEMA, SCHEMA["$defs"]):
        raise BundleError(*troubles)
    troubles = [*_find_missing(document, folder), *_find_contradictions(document)]
    if troubles:
        raise BundleError(*troubles)
    value: Any = document.value
    named = {page: str(path) for page, path in value.get("texts", {}).items()}
    texts = {page: read_text(folder, path) for page, path in named.items()}
    return Bundle(
        slug=value.get("slug", ""),
        settings={name: value[name] for name in _SETTINGS if name in value},
        texts=texts,
        rounds=tuple(map(_round, value["rounds"])),
        folder=folder,
        lost=tuple(_find_unused(folder, {NAME, *named.values(), *_paths(value)})),
    )


def write_bundle(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a bundle as `read_bundle` reads them, one in memory at a time."""
    document: dict[str, Any] = {"version": VERSION}
    document |= {"slug": bundle.slug} if bundle.slug else {}
    document |= bundle.settings
    pages = {page: f"{page}.md" for page in TEXTS if bundle.texts.get(page)}
    document |= {"texts": pages} if pages else {}
    document["rounds"] = [_round_value(round) for round in bundle.rounds]
    yield NAME, write_yaml(document).encode()
    for page, name in pages.items():
        yield name, bundle.texts[page].encode()
    for path in dict.fromkeys(bundle.paths):
        yield path, bundle.folder.read(path)


def without_solutions(bundle: Bundle) -> Bundle:
    """Return the bundle without its hidden labels."""
    return replace(bundle, rounds=tuple(replace(round, solution="") for round in bundle.rounds))


def read_text(folder: Folder, path: str) -> str:
    """Return a text of Markdown. Raises BundleError where it is none."""
    try:
        text = folder.read(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise fail(path, "It is not encoded in UTF-8.") from None
    if "\0" in text:
        raise fail(path, "It is no text: it holds a NUL character.")
    if len(text) > LONGEST_TEXT:
        raise fail(path, f"A page has at most {LONGEST_TEXT:,} characters; this has {len(text):,}.")
    return text.replace("\r\n", "\n")


def read_moment(text: str) -> datetime:
    """Return a moment as bundles write it. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check_version(document: Document) -> None:
    """Say what version it is before anything else: others may look quite different."""
    version = document.value.get("version") if isinstance(document.value, dict) else None
    if isinstance(version, int) and version != VERSION:
        raise fail(
            document.where(("version",)),
            f"Version {version} of the format is not known here; this is version {VERSION}.",
        )


def _find_missing(document: Document, folder: Folder) -> Iterator[Trouble]:
    """Yield the paths that are wrong or lead nowhere."""
    value: Any = document.value
    places: dict[Place, str] = {
        ("texts", page): path for page, path in value.get("texts", {}).items()
    }
    for index, round in enumerate(value["rounds"]):
        here = ("rounds", index)
        files = enumerate(round.get("files", ()))
        places |= {(*here, "files", at, "path"): file["path"] for at, file in files}
        if round.get("solution"):
            places[*here, "solution"] = round["solution"]
    for place, path in places.items():
        if why := why_bad_name(path):
            yield Trouble(document.where(place), f"“{path[:80]}”: {why}")
        elif path not in folder:
            yield Trouble(document.where(place), f"The bundle has no file “{path}”.")


def _find_contradictions(document: Document) -> Iterator[Trouble]:
    """Yield what no schema can say."""
    value: Any = document.value
    for index, round in enumerate(value["rounds"]):
        here: Place = ("rounds", index)
        found = [*_wrong_times(round), *_wrong_files(round)]
        if round.get("continues", False):
            found += _wrong_continued(round, index)
        for place, what in found:
            yield Trouble(document.where(here + place), what)


def _wrong_times(round: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    for name in ("opens_at", "closes_at"):
        try:
            read_moment(round.get(name) or "2000-01-01")
        except ValueError:
            yield (name,), f"There is no such day: “{round[name]}”."


def _wrong_continued(round: dict[str, Any], index: int) -> Iterator[tuple[Place, str]]:
    if not index:
        yield ("continues",), "The first round can't go on with one before it."
    for name in ("columns", "files", "solution"):
        if round.get(name):
            what = f"A round that continues has the rows of the one before, and no “{name}”."
            yield (name,), what


def _wrong_files(round: dict[str, Any]) -> Iterator[tuple[Place, str]]:
    names, samples = set[str](), 0
    for at, file in enumerate(round.get("files", ())):
        place, name = ("files", at, "path"), file["path"].rpartition("/")[2]
        samples += file["role"] == "sample"
        if file["path"] == round.get("solution"):
            yield place, "The solution is offered as a public file: everybody could download it."
        if name in names:
            yield place, f"Two files of the round are called “{name}”."
        if file["role"] == "sample" and samples > 1:
            yield place, "A round has one sample submission."
        names.add(name)


def _find_unused(folder: Folder, used: set[str]) -> Iterator[str]:
    for name in folder.names:
        if name not in used and not name.rpartition("/")[2].casefold().startswith("readme"):
            yield f"{name}: holdfast.yaml does not name it, so it is left out."


def _paths(value: Any) -> Iterator[str]:
    for round in value["rounds"]:
        yield from (file["path"] for file in round.get("files", ()))
        yield round.get("solution") or ""


def _round(value: dict[str, Any]) -> RoundPart:
    settings: dict[str, Any] = {name: value[name] for name in ROUND_SETTINGS if name in value}
    for name in ("opens_at", "closes_at"):
        if settings.get(name):
            settings[name] = read_moment(settings[name])
    columns = value.get("columns")
    if columns is not None:
        columns = columns | {"columns": [_column(each) for each in columns["columns"]]}
    return RoundPart(
        boards=tuple(map(_board, value["boards"])),
        title=value.get("title", ""),
        continues=value.get("continues", False),
        settings=settings,
        columns=columns,
        files=tuple(FilePart(**each) for each in value.get("files", ())),
        solution=value.get("solution") or "",
    )


def _board(value: dict[str, Any]) -> BoardPart:
    parameters = {
        name: {key: str(each) for key, each in value.get(name, {}).items()}
        for name in ("metric_parameters", "mechanism_parameters")
    }
    return BoardPart(**{**value, **parameters})


def _column(value: dict[str, Any]) -> dict[str, Any]:
    return value | ({"classes": list(map(str, value["classes"]))} if "classes" in value else {})


def _round_value(round: RoundPart) -> dict[str, Any]:
    settings = {
        name: each.isoformat(timespec="seconds") if isinstance(each, datetime) else each
        for name, each in round.settings.items()
    }
    boards = [{name: each for name, each in vars(board).items() if each} for board in round.boards]
    files = [{name: each for name, each in vars(file).items() if each} for file in round.files]
    parts = {
        "title": round.title,
        "continues": round.continues,
        **settings,
        "columns": round.columns,
        "boards": boards,
        "files": files,
        "solution": round.solution,
    }
    kept = (*ROUND_SETTINGS, "boards")
    return {
        name: each for name, each in parts.items() if each or (name in kept and each is not None)
    }
