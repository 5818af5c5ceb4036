"""Competitions as files: export, import, clone, move."""

from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile, ZipFile

import typer

from bundles.errors import BundleError
from holdfast import options, output
from holdfast.connection import Connection, Json, connect
from holdfast.errors import Failure
from holdfast.options import competition_of
from holdfast.organize.commands import Yes, confirm, organize_path
from holdfast.output import Format

LONGEST = 4_000_000_000  # bytes of a bundle


def export(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    to: Annotated[
        Path | None, typer.Option("-o", "--output", help="Where it goes; COMP.zip if left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    archive: Annotated[
        bool, typer.Option("--archive", help="With teams, submissions and the ledger; for owners.")
    ] = False,
    with_people: Annotated[
        bool, typer.Option("--with-people", help="In an archive, names and mail addresses too.")
    ] = False,
) -> None:
    """Download a competition as a bundle: settings, scoring, texts and public files.

    The solution is sealed, and not in it. With --archive, for another installation, as an archive:
    it has the secrets, sealed, once the competition was moved.
    """
    if with_people and not archive:
        raise typer.BadParameter("--with-people goes with --archive.")
    slug = competition_of(competition, option)
    target = to or Path(f"{slug}-archive.zip" if archive else f"{slug}.zip")
    if target.exists() and not force:
        raise Failure(f"{target} is there already.", hint="Name another with -o, or add --force.")
    with connect() as client:
        path = organize_path(slug, "archive" if archive else "bundle")
        asked = {"with_people": "true"} if with_people else {}
        client.save(path, target, LONGEST, method="POST", **asked)
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
    """Make a draft of a bundle: Holdfast's, Codabench's, or Kaggle's files as a zip archive.

    An archive of Holdfast becomes a copy with its submissions and ledger.
    """
    if is_archive(file):
        if dry_run or sure:
            raise typer.BadParameter("--dry-run and --sure are for bundles; this is an archive.")
        with connect() as client, file.open("rb") as content:
            found = client.send(
                "POST",
                "organize/archives/",
                data={"slug": slug} if slug else {},
                files={"archive": (file.name, content, "application/zip")},
            )
        if style is Format.table:
            output.say(f"{file} is imported as {found['slug']}, with its ledger: {found['url']}")
        else:
            output.show_json(found)
        return
    with connect() as client:
        found = send_bundle(client, file, slug=slug, sure=sure, only_plan=dry_run)
    if style is not Format.table:
        output.show_json(found)
        return
    for lost in found.get("lost", ()):
        output.say(f"- {lost}")
    made = "would become" if dry_run else "is now the draft"
    output.say(f"{file} {made} {found['slug']}.")


def is_archive(file: Path) -> bool:
    """Return whether a zip file holds a competition with its ledger."""
    try:
        with ZipFile(file) as opened:
            return "archive.json" in opened.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def move(
    competition: options.Competition = None,
    option: options.CompetitionOption = None,
    *,
    to: Annotated[
        str, typer.Option("--to", help="The public key of the other installation's vault.")
    ],
    yes: Yes = False,
    style: options.OneFormatOption = Format.table,
) -> None:
    """Close a competition's ledger here for good, and seal its secrets to another installation.

    `vault-key` there prints the key. Once workers are done, `export --archive` has the secrets, and
    `import` takes them there. There is no way back.
    """
    slug = competition_of(competition, option)
    confirm(f"Close the ledger of {slug} here, for good?", yes)
    with connect() as client:
        found = client.send("POST", organize_path(slug, "move"), json={"destination": to})
    if style is Format.table:
        output.say(f"The ledger of {slug} is closed here. Workers are sealing its secrets.")
    else:
        output.show_json(found)


def vault_key() -> None:
    """Print the public key of this installation's vault, for a competition that moves here."""
    with connect() as client:
        output.say(client.get("organize/archives/")["vault_key"])


def send_bundle(
    client: Connection, file: Path, *, slug: str = "", sure: bool = False, only_plan: bool = False
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
