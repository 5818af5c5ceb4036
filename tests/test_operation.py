"""Compose, the units of systemd and docs/settings.md say the same, and what the code needs."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from pytest_django import Settings

from leaderboard.operate import settings_page

ROOT = Path(__file__).parents[1]
UNITS = ROOT / "deploy" / "systemd"
SERVICES = ("web", "worker", "long", "outbox", "beat")
# What the composition sets by itself, for its services, volumes and image, or never (DEBUG).
OWN = {
    *("VAR_DIR", "STATIC_ROOT", "DEBUG", "DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL"),
    *("VAULT_PUBLIC_KEY_FILE", "VAULT_PRIVATE_KEY_FILE", "WATERMARK_DIR", "BACKUP_DIR"),
    *("BEHIND_PROXY", "VAULT_PRIVATE_KEY", "VAULT_PRIVATE_KEY_COMMAND"),
    *("LOG_KEY_FILE", "LOG_KEY", "LOG_KEY_COMMAND"),
    *("RECEIPT_KEY_FILE", "RECEIPT_KEY", "RECEIPT_KEY_COMMAND"),
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return found


def command(unit: str) -> list[str]:
    """Return what a unit starts last."""
    found = re.findall(r"^ExecStart=(.*)$", (UNITS / unit).read_text(), re.MULTILINE)
    return str(found[-1]).split()


def test_the_page_of_settings_is_that_of_the_code() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == settings_page.page()


def test_the_composition_passes_every_setting_on(compose: dict[str, Any]) -> None:
    passed = {
        name
        for service in SERVICES
        for name, value in compose["services"][service]["environment"].items()
        if f"${{{name}:" in value
    }
    assert set(settings_page.names()) - OWN == passed | {"SITE_URL"}


def test_every_image_is_of_a_version_and_every_service_has_limits(compose: dict[str, Any]) -> None:
    file = (ROOT / "Dockerfile").read_text()
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", file, re.MULTILINE)
    named = [image for image, _ in stages if image not in {name for _, name in stages}]
    for service in compose["services"].values():
        named += [] if "build" in service else [service["image"]]
        assert service["mem_limit"]
        assert service["cpus"]
    assert [image for image in named if not re.search(r":\D*\d+[.-]\d+", image)] == []


def test_units_and_composition_start_the_same(compose: dict[str, Any]) -> None:
    for name in SERVICES[1:]:
        program, *arguments = command(f"holdfast-{name}.service")
        assert [Path(program).name, *arguments] == compose["services"][name]["command"]
    migrate = command("holdfast-migrate.service")
    assert migrate[0] == "/opt/holdfast/.venv/bin/python"
    backup = compose["services"]["backup"]["command"]
    assert command("holdfast-backup.service")[1:4] == [*backup[1:3], "--keep"]


def test_only_the_worker_s_unit_sees_the_private_key() -> None:
    for unit in UNITS.glob("*.service"):
        text = unit.read_text()
        hidden = "InaccessiblePaths=/etc/holdfast/vault" in text
        assert hidden is (unit.stem not in {"holdfast-worker", "holdfast-long"})
        assert ("VAULT_PRIVATE_KEY_FILE" in text) is not hidden


def test_systemd_understands_the_units(tmp_path: Path) -> None:
    verify = shutil.which("systemd-analyze")
    there = Path(sys.executable).parent
    for unit in UNITS.glob("holdfast*"):
        text = unit.read_text().replace("/opt/holdfast/.venv/bin", str(there))
        (tmp_path / unit.name).write_text(text)
        assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)[0] == "Unit"
    if verify:
        units = sorted(map(str, tmp_path.iterdir()))
        done = subprocess.run(
            [verify, "verify", *units], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_demo_says_what_a_new_folder_lacks(
    db: None, settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path / "new"
    settings.VAULT_PUBLIC_KEY_FILE = settings.VAR_DIR / "public.key"
    with pytest.raises(CommandError, match="vault_keys"):
        call_command("load_demo")
    assert settings.VAR_DIR.is_dir()
