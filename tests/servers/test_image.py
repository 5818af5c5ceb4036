"""What can be known of the image without building it: its files suffice, none is secret."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.deployment import ROOT


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that .dockerignore lets in."""
    directory = tmp_path_factory.mktemp("image")
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    for name in [line[1:] for line in lines if line.startswith("!")]:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, directory / name)
    return directory


def run(image: Path, *command: str) -> str:
    """Runs Python in the image's directory, in an environment of its own, as the build does."""
    environment = {
        "PATH": os.environ["PATH"],
        "VAR_DIR": str(image / "nothing-here"),
        "STATIC_ROOT": str(image / "static-collected"),
    }
    done = subprocess.run(
        [sys.executable, "-P", *command],
        cwd=image,
        env=environment | {"PYTHONPATH": str(image)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_static_files_are_collected_without_any_secret(image: Path) -> None:
    run(image, "manage.py", "collectstatic", "--no-input", "--verbosity", "0")
    assert (image / "static-collected" / "staticfiles.json").is_file()


def test_web_and_worker_find_all_they_import(image: Path) -> None:
    code = "import leaderboard.wsgi, leaderboard.tasks, leaderboard; print(leaderboard.__file__)"
    assert run(image, "-c", code).startswith(str(image))


def test_the_figures_of_the_home_page_are_there(image: Path) -> None:
    code = "import leaderboard.wsgi; from leaderboard.web.attack import attack; print(attack())"
    assert "A Holdfast leaderboard" in run(image, "-c", code)


def test_the_demo_comes_with_its_texts(image: Path) -> None:
    assert (image / "leaderboard" / "operate" / "demo" / "texts" / "digits" / "rules.md").is_file()


def test_the_image_runs_as_nobody_special_from_locked_requirements() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert "USER holdfast" in lines
    assert any("--require-hashes -r" in line for line in lines)
    assert not any(word in line for line in lines for word in ("SECRET", "PASSWORD", "PRIVATE_KEY"))
