"""Beginning with a folder of files: write its `holdfast.yaml`, or make a draft of it at once."""

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from bundles.bundle import NAME, Bundle
from bundles.documents import write_yaml
from bundles.errors import BundleError
from bundles.folders import open_directory
from bundles.kaggle import is_kaggle, read_kaggle
from holdfast import options, output
from holdfast.connection import Connection, Json, connect
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.organize.bundles import explain
from holdfast.organize.commands import moment, organize_path, read_text
from holdfast.output import Format

LASTS = timedelta(days=28)
EXPECTED = ("train.csv", "test.csv", "solution.csv", "sample_submission.csv")
ROLES = ("train", "test", "solution", "sample")
PAGES = {"overview.md": "description", "rules.md": "rules", "data.md": "data_description"}
TEXTS = {
    "overview.md": "# {title}\n\nWhat is to be predicted, from what, and why?\n",
    "rules.md": "- Hand labelling of the test data is not allowed.\n"
    "- Private sharing of code or data between teams is not allowed.\n",
    "data.md": "Where the data come from, and what the columns mean.\n",
}
HEAD = """\
# A competition of Holdfast. `holdfast organize push` sends what changed in this folder, and nothing
# else. docs/organizing.md explains it; docs/holdfast-bundle.schema.json has all there can be.
version: 1
slug: {slug}
title: {title}
tagline: ""  # one sentence, shown in the list
visibility: public  # or: invited, hidden
team_size: 4
texts:  # Markdown
  overview: overview.md
  rules: rules.md
  data: data.md
rounds:
  - opens_at: {opens_at}
    closes_at: {closes_at}  # or: null, for no end
    daily_limit: 5  # submissions of a team a day
    total_limit: 100  # and in all; null for no limit
    finals_limit: 2  # submissions that a team enters for the final scores
"""
EMPTY = """\
    # columns:  # of a prediction file
    #   id_column: id
    #   columns:
    #     - {name: label, kind: label, classes: [cat, dog]}  # or kind: number, probability
    boards:
      - metric: accuracy  # without a mechanism the one that fits is chosen
    # files:
    #   - {path: train.csv, role: train}
    #   - {path: test.csv, role: test}
    #   - {path: sample_submission.csv, role: sample}
    # solution: solution.csv  # ids, labels, Usage; `holdfast split` makes one
"""
Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="The folder.", exists=True, file_okay=False)
]


def init(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", file_okay=False, help="The folder.")],
    slug: Annotated[
        str, typer.Option("--slug", help="The short name; the folder's if left out.")
    ] = "",
) -> None:
    """Write a commented holdfast.yaml and texts to fill in, for a folder to keep in git.

    Where train.csv, test.csv and solution.csv are there, their columns are proposed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / NAME
    if target.exists():
        raise Failure(f"{target} is there already.", hint="`holdfast organize push` sends it.")
    name = competition_of(slug or _slug_of(folder), None)
    found = _read(folder)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    head = HEAD.format(
        slug=name,
        title=write_yaml(_title(name)).splitlines()[0],
        opens_at=f"{now:%Y-%m-%dT%H:%MZ}",
        closes_at=f"{now + LASTS:%Y-%m-%dT%H:%MZ}",
    )
    target.write_text(head + (_round(folder, found) if found else EMPTY), encoding="utf-8")
    for page, text in TEXTS.items():
        if not (folder / page).exists():
            (folder / page).write_text(text.format(title=_title(name)), encoding="utf-8")
    output.say(f"{target} is written. Fill it in, then run `holdfast organize push {folder}`.")
    for lost in found.lost if found else ():
        output.note(f"- {lost}")


def create(
    folder: Folder,
    slug: Annotated[str, typer.Option("--slug", help="The short name.")],
    metric: Annotated[str, typer.Option("--metric", help="Another metric than is proposed.")] = "",
    title: Annotated[str, typer.Option("--title", help="The name of the competition.")] = "",
    until: Annotated[
        str, typer.Option("--until", help="When it closes; in four weeks if left out.")
    ] = "",
    teams: Annotated[
        int | None, typer.Option("--teams", min=1, help="How many teams there may be.")
    ] = None,
    submissions: Annotated[
        int | None, typer.Option("--submissions", min=1, help="Files of each team, in all.")
    ] = None,
    open_it: Annotated[
        bool, typer.Option("--open", help="Open it at once, if nothing is missing.")
    ] = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Make a draft of a folder with train.csv, test.csv and solution.csv.

    A sample_submission.csv is made if there is none. The server proposes columns, metric, mechanism
    and split, each with its reason. overview.md, rules.md and data.md are its pages, if they are
    there. With --open it exits 1 where something is missing.
    """
    name = competition_of(slug, None)
    missing = [each for each in EXPECTED[:3] if not (folder / each).is_file()]
    if missing:
        raise Failure(
            f"{folder} has no {' and no '.join(missing)}.",
            hint=f"A folder with {', '.join(EXPECTED[:3])} was expected.",
        )
    fields: Json = {"slug": name, "title": title or _title(name)}
    chosen = {"metric": metric, "teams": teams, "submissions": submissions}
    fields |= {key: value for key, value in chosen.items() if value}
    fields |= {"closes_at": moment(until).isoformat()} if until else {}
    pages = {field: folder / page for page, field in PAGES.items()}
    fields |= {field: read_text(path) for field, path in pages.items() if path.is_file()}
    with connect() as client:
        found = _send_files(client, folder, fields)
        checklist: Json = {}
        if open_it:
            checklist = client.get(organize_path(name, "checklist"))
            if checklist["is_ready"]:
                found |= client.send("POST", organize_path(name, "open"), json={})
    if style is Format.table:
        _show_proposals(found)
    else:
        output.show_json(found)
    if checklist and not checklist["is_ready"]:
        raise Failure(
            f"{name} is a draft still: it can't be opened yet.",
            details=[
                f"{each['title']}: {each['detail']}"
                for each in checklist["checks"]
                if not each["passed"]
            ],
        )


def _send_files(client: Connection, folder: Path, fields: Json) -> Json:
    """Send each file of the folder once, and return the draft that the server made of them."""
    with ExitStack() as stack:
        files = {
            role: (name, stack.enter_context((folder / name).open("rb")), "text/csv")
            for role, name in zip(ROLES, EXPECTED, strict=True)
            if (folder / name).is_file()
        }
        path = "organize/competitions/from-files/"
        return client.send("POST", path, data=fields, files=files)


def _show_proposals(found: Json) -> None:
    setup, scoring = found["setup"], found["scoring"]
    columns = ", ".join(f"{each['name']} ({each['kind']})" for each in found["columns"]["columns"])
    output.say(f"{found['title']}: {'open' if found['opened_at'] else 'a draft'}, {found['url']}")
    output.say(f"To predict: {columns}")
    output.say(f"Scored by {scoring['metric']} on a board of {scoring['mechanism']}.")
    for field, reason in setup["reasons"].items():
        output.say(f"- {field.replace('_', ' ')}: {reason}")
    output.say(f"- split: {setup['split']['reason']}")
    for each in scoring["proposals"]:
        output.say(f"- {each['title']} {each['value']}: {each['reason']}")


def send_solution(client: Connection, slug: str, path: Path) -> Json:
    """Send the hidden labels, which the server seals; return what it counted."""
    with path.open("rb") as file:
        files = {"solution": (path.name, file, "text/csv")}
        return client.send("PUT", organize_path(slug, "solution"), files=files)


def _read(folder: Path) -> Bundle | None:
    """Return what the files of a folder make; None where there is no solution among them."""
    try:
        files = open_directory(folder)
        return read_kaggle(files) if is_kaggle(files) else None
    except BundleError as error:
        raise explain(folder, error) from None


def _round(folder: Path, found: Bundle) -> str:
    """Return the rest of the first round, and write the sample that is lacking."""
    (round,) = found.rounds
    for file in round.files:
        if not (folder / file.path).exists():
            (folder / file.path).write_bytes(found.folder.read(file.path))
    parts: dict[str, Any] = {
        "columns": round.columns,
        "boards": [{"metric": round.boards[0].metric}],
        "files": [{"path": file.path, "role": file.role} for file in round.files],
        "solution": round.solution,
    }
    return "".join(_indent(write_yaml(parts).splitlines()))


def _indent(lines: Iterable[str]) -> Iterable[str]:
    return (f"    {line}\n" for line in lines)


def _title(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").capitalize()


def _slug_of(folder: Path) -> str:
    return "".join(
        each if each.isascii() and each.isalnum() else "-" for each in folder.resolve().name
    )
