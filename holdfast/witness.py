"""A witness: keeps the heads of public logs, and refuses those that contradict each other."""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast import config, output
from holdfast.config import Settings
from holdfast.connection import Connection
from holdfast.errors import Failure
from holdfast.options import EXISTING

if TYPE_CHECKING:
    from holdfast.heads import Heads
    from scoring.transparency.notes import Key, Verifier

ADDRESS = re.compile(r"(?P<site>\S+)/c/(?P<slug>[A-Za-z0-9_-]+)(/log)?/?")
HEADS = "heads.jsonl"


def witness(
    addresses: Annotated[
        list[str] | None, typer.Argument(metavar="ADDRESS...", help="Pages of competitions.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Where heads are kept.", dir_okay=False)
    ] = None,
    git: Annotated[
        Path | None,
        typer.Option("--git", help="Keep them in this git repository, a commit for each change."),
    ] = None,
    cosign: Annotated[
        Path | None,
        typer.Option("--cosign", metavar="KEY", help="Sign heads with this key, and hand it in."),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Make that key, under a name such as you.example/w1.")
    ] = "",
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="VKEY", help="The key of a log, from another source."),
    ] = None,
    every: Annotated[
        float | None, typer.Option("--every", min=1, help="Look again after so many seconds.")
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option("--evidence", help="Only check what a file of evidence proves.", **EXISTING),
    ] = None,
) -> None:
    """Keep the heads of competitions' public logs, and refuse those that contradict each other.

    Of two heads that can't both be true, evidence is kept beside the others; the exit code is 1.
    """
    if evidence:
        output.say(_check(evidence))
        return
    if not addresses or (file and git):
        raise typer.BadParameter("give the addresses of competitions, and one of --file and --git.")
    from holdfast.heads import Heads

    heads = Heads(git / HEADS if git else file or config.config_path().parent / HEADS)
    signer = _read_key(cosign, name) if cosign else None
    given = _verifiers(key or [])
    while True:
        failed = [_look(address, heads, given, signer) for address in addresses].count(False)
        if git:
            _commit(git)
        if every is None:
            raise typer.Exit(1 if failed else 0)
        time.sleep(every)


def _look(address: str, heads: Heads, given: dict[str, Verifier], signer: Key | None) -> bool:
    """Look at one log and report what was found; return whether all is well."""
    from holdfast.heads import look

    try:
        found = ADDRESS.fullmatch(address)
        if found is None:
            raise Failure(f"{address} is no competition's page, as https://SITE/c/NAME is one.")
        with Connection(Settings(config.clean_url(found["site"]))) as server:
            now = int(time.time())
            head = look(server, found["slug"], address, heads, now=now, given=given, by=signer)
    except Failure as failure:
        output.report(failure)
        return False
    output.say(f"{address}: {output.number(head.size, 'entry', 'entries')}.")
    return True


def _read_key(path: Path, name: str) -> Key:
    """Return the witness's own key, made now if there is none and it has a name."""
    from holdfast.logs import write
    from scoring.transparency.notes import COSIGNATURE, KEY_BYTES, Key

    try:
        if path.exists():
            return Key.from_text(path.read_text(encoding="utf-8"))
        if not name:
            raise Failure(f"There is no key at {path}.", hint="With --name, one is made.")
        key = Key(name, secrets.token_bytes(KEY_BYTES), COSIGNATURE)
    except ValueError as error:
        raise Failure(f"{path}: {error}") from None
    write(path, key.to_text() + "\n")
    output.say(f"The witness's key, for sites (WITNESSES) and for verify: {key.verifier}")
    return key


def _verifiers(texts: list[str]) -> dict[str, Verifier]:
    from scoring.transparency.notes import Verifier

    try:
        return {(found := Verifier.parse(text)).name: found for text in texts}
    except ValueError as error:
        raise Failure(str(error)) from None


def _check(path: Path) -> str:
    from scoring.transparency.evidence import Evidence
    from scoring.verification.differences import Differs

    try:
        return Evidence.from_json(json.loads(path.read_bytes())).check()
    except (Differs, ValueError) as error:
        raise Failure(f"{path.name} proves nothing. {error}") from None


def _commit(folder: Path) -> None:
    """Commit the heads, if there are new ones; make the repository if there is none."""
    identity = ("-c", "user.name=holdfast witness", "-c", "user.email=witness@localhost")
    commands: tuple[tuple[str, ...], ...] = (
        ("init", "--quiet"),  # it leaves a repository that is there as it is
        ("add", "--", HEADS),
        ("diff", "--cached", "--quiet", "--", HEADS),
        ("commit", "--quiet", "-m", "Keep heads of public logs"),
    )
    for command in commands:
        ran = subprocess.run(
            ["git", "-C", str(folder), *identity, *command],
            capture_output=True,
            text=True,
            check=False,
        )
        if command[0] == "diff" and ran.returncode == 0:
            return
        if command[0] != "diff" and ran.returncode:
            raise Failure(f"git {command[0]} failed: {ran.stderr.strip()}")
