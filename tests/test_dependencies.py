"""The audit of what we install that needs no network; `make audit` asks for known weaknesses."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCKS = ("requirements.txt", "requirements-dev.txt")
PINNED = re.compile(r"(?P<name>[\w.-]+)(?:\[[\w,]+\])?==(?P<version>\S+)(?: ; (?P<marker>.+))?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = SETTINGS["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def locked(name: str) -> dict[str, str]:
    """The versions that a lock pins for this Python and system."""
    pins: dict[str, str] = {}
    for entry in entries(name):
        found = PINNED.fullmatch(entry[0])
        assert found, f"{name} does not pin {entry[0]}"
        if found["marker"] is None or Marker(found["marker"]).evaluate():
            pins[canonicalize_name(found["name"])] = found["version"]
    return pins


def entries(name: str) -> list[list[str]]:
    """Each requirement of a lock with its options, without comments."""
    text = (ROOT / name).read_text().replace("\\\n", "\n")
    lines = [
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    ]
    found: list[list[str]] = []
    for line in lines:
        if line.startswith(" "):
            found[-1].append(line.strip())
        else:
            found.append([line.strip()])
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_everything_is_pinned_to_its_hashes(name: str) -> None:
    for requirement, *options in entries(name):
        assert PINNED.fullmatch(requirement)
        assert options
        assert all(HASH.fullmatch(option) for option in options), requirement


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_index_and_no_path(name: str) -> None:
    text = (ROOT / name).read_text()
    assert not re.search(
        r"^\s*--(index-url|extra-index-url|find-links)|file:|https?:", text, re.MULTILINE
    )


def test_both_locks_agree() -> None:
    server, developer = (locked(name) for name in LOCKS)
    assert server.items() <= developer.items()


def test_every_direct_dependency_says_why_and_is_locked() -> None:
    lines = (ROOT / "pyproject.toml").read_text().splitlines()
    developer = locked(LOCKS[1])
    for text in [*PROJECT["dependencies"], *(each for extra in EXTRAS.values() for each in extra)]:
        requirement = Requirement(text)
        version = developer[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), text
        assert any(f'"{text}",  # ' in line for line in lines), f"{text} gives no reason"


def test_what_is_installed_is_what_is_locked() -> None:
    installed: dict[str, str] = {
        canonicalize_name(each.metadata["Name"]): each.version for each in metadata.distributions()
    }
    differing = {
        name: (version, installed.get(name))
        for name, version in locked(LOCKS[1]).items()
        if installed.get(name) != version
    }
    assert differing == {}


def test_what_is_installed_fits_together() -> None:
    for each in metadata.distributions():
        for text in each.requires or ():
            requirement = Requirement(text)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            version = metadata.version(requirement.name)
            assert requirement.specifier.contains(version, prereleases=True), (each.name, text)


def test_what_participants_install_has_every_package_that_it_imports() -> None:
    inits = (
        path
        for name in ("durable", "scoring", "holdfast")
        for path in (ROOT / name).rglob("__init__.py")
    )
    packages = {".".join(path.parent.relative_to(ROOT).parts) for path in inits}
    installed = set(SETTINGS["tool"]["setuptools"]["packages"])
    assert installed == {"bundles", "bundles.templates"} | packages
