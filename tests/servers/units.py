"""The units of systemd, started without it."""

import re
import sys
from pathlib import Path

from tests.servers.deployment import ROOT, Deployment

UNITS = ROOT / "deploy" / "systemd"


def commands(unit: str) -> list[tuple[str, ...]]:
    """What a unit starts, as it is written there, with the programs of this environment."""
    text = (UNITS / f"{unit}.service").read_text()
    there = text.replace("/opt/holdfast/.venv/bin", str(Path(sys.executable).parent))
    return [tuple(line.split()) for line in re.findall(r"^ExecStart=(.*)$", there, re.MULTILINE)]


def variables(unit: str, site: Deployment) -> dict[str, str]:
    """What a unit's files of variables and its own lines say, with this site's folders."""
    text = (UNITS / f"{unit}.service").read_text()
    named = re.findall(r"^EnvironmentFile=/etc/holdfast/(\w+)$", text, re.MULTILINE)
    example = (UNITS / "environment.example").read_text()
    lines = re.findall(r"^(\w+)=(.*)$", example, re.MULTILINE)
    lines += re.findall(r"^Environment=(\w+)=(.*)$", text, re.MULTILINE)
    folders = {"/etc/holdfast/vault": site.directory / "vault", "/var/lib/holdfast": site.directory}
    folders["/var/backups/holdfast"] = site.directory / "backups"
    found = dict(lines)
    for written, here in folders.items():
        found = {name: text.replace(written, str(here)) for name, text in found.items()}
    chosen = {name: site.environment[name] for name in ("SECRET_KEY", "DATABASE_URL")}
    roles = [name for name in named if name != "environment"]
    return found | chosen | (site.redis(roles[0]) if roles else {})
