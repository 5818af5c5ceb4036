"""Competitions as bundles: export, import, clone."""

from pathlib import Path
from typing import Annotated

import typer

from bundles.errors import BundleError
from holdfast import options, output
from holdfast.client import Client, Json, connect
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.organize.commands import organize_path
from holdfast.output import Format

LONGEST = 4_000_000_000  # bytes of a bundle


def export(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    to: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where it goes; COMP.zip if left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Download a competition as a bundle: settings, scoring, texts and public files.

    The solution is sealed, and not in it.
    """
    slug = competition_of(competition, option)
    target = to or Path(f"{slug}.zip")
    if target.exists() and not force:
        raise Failure(f"{target} is there already.", hint="Name another with -o, or add --force.")
    with connect() as client:
        client.save(organize_path(slug, "bundle"), target, LONGEST, method="POST")
    output.say(f"{target}: saved, {output.size(target.stat().st_size)}.")


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A zip archive.", **options.EXISTING)
    ],
    slug: Annotated[str, typer.Option("--slug", help="Another short name than the bundle's.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Make nothing; list what can't be carried over.")
    ] = False,
    sure: Annotated[
        bool,
        typer.Option("--sure", help="No public file holds hidden labels."),
    ] = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Make a draft of a bundle: Holdfast's, Codabench's, or Kaggle's files as a zip archive."""
    with connect() as client:
        found = send_bundle(client, file, slug=slug, sure=sure, only_plan=dry_run)
    if style is not Format.table:
        output.show_json(found)
        return
    for lost in found.get("lost", ()):
        output.say(f"- {lost}")
    made = "would become" if dry_run else "is now the draft"
    output.say(f"{file} {made} {found['slug']}.")


def send_bundle(
    client: Client, file: Path, *, slug: str = "", sure: bool = False, only_plan: bool = False
) -> Json:
    """Send a bundle, to be planned or made, and return the server's answer."""
    fields = {"slug": slug} if slug else {}
    fields |= {"sure": "true"} if sure else {}
    path = "organize/bundles/plan/" if only_plan else "organize/bundles/"
    with file.open("rb") as content:
        files = {"bundle": (file.name, content, "application/zip")}
        return client.send("POST", path, data=fields, files=files)


def clone(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    *,
    slug: Annotated[str, typer.Option("--slug", help="The short name of the copy.")],
    style: options.OneFormatOption = Format.table,
) -> None:
    """Make a draft like a competition; its solution has to be sent again."""
    source = competition_of(competition, option)
    with connect() as client:
        made = client.send("POST", organize_path(source, "clone"), json={"slug": slug})
    if style is Format.table:
        output.say(f"{made['slug']} is a draft like {source}. Send its solution next.")
    else:
        output.show_json(made)


def explain(folder: Path, error: BundleError) -> Failure:
    """Return what is wrong with a folder, a line each."""
    return Failure(f"{folder} can't be used.", details=map(str, error.troubles))
