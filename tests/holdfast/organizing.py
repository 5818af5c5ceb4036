"""An organizer's terminal, with the server in the same process."""

import random
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.cache import cache
from django.core.wsgi import get_wsgi_application

from holdfast import connection
from leaderboard.models import Scope
from leaderboard.participate import tokens
from tests.cast import ROWS, World, solution

PAGES = {"overview.md": "# Cats\n", "rules.md": "Play fair.\n", "data.md": "Pictures.\n"}
YAML = """\
version: 1
slug: cats
title: Cats and dogs
texts: {overview: overview.md, rules: rules.md, data: data.md}
rounds:
  - opens_at: 2026-01-01T00:00:00Z
    closes_at: 2099-01-01T00:00:00Z
    daily_limit: 7
    columns:
      id_column: id
      columns:
        - {name: label, kind: label, classes: [0, 1, 2, 3]}
    boards:
      - metric: accuracy
        mechanism: ladder
        mechanism_parameters: {steps: 20, confidence: 0.95}
    files:
      - {path: sample_submission.csv, role: sample}
      - {path: data/train.csv, role: train, description: Pictures}
    solution: solution.csv
"""


@pytest.fixture
def organizer(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Sign who owns `digits` in, with a token for organizing alone."""
    cache.clear()
    monkeypatch.setenv("HOLDFAST_URL", "http://testserver")
    token = tokens.issue(world.organizer, days=1, scopes=[Scope.ORGANIZE]).text
    monkeypatch.setenv("HOLDFAST_TOKEN", token)
    application: Any = get_wsgi_application()
    monkeypatch.setattr(connection, "transport", lambda: httpx.WSGITransport(app=application))
    return world


@pytest.fixture
def folder(environment: Path) -> Path:
    """Write a competition as it is kept in git."""
    here = environment / "cats"
    (here / "data").mkdir(parents=True)
    (here / "holdfast.yaml").write_text(YAML)
    for name, text in PAGES.items():
        (here / name).write_text(text)
    rows = "".join(f"r{row},0\n" for row in range(ROWS))
    (here / "sample_submission.csv").write_text(f"id,label\n{rows}")
    (here / "data" / "train.csv").write_text("x,label\n1,0\n2,1\n")
    (here / "solution.csv").write_bytes(solution())
    return here


@pytest.fixture
def dropped(environment: Path) -> Path:
    """Write training data, test data and a solution, as an organizer has them."""
    here, draw = environment / "prices", random.Random(0)
    here.mkdir()
    rows = [(f"h{row}", draw.random(), draw.randrange(50, 500)) for row in range(600)]
    train = "".join(f"t{id_},{x:.3f},{y}\n" for id_, x, y in rows)
    (here / "train.csv").write_text(f"id,size,price\n{train}")
    (here / "test.csv").write_text("id,size\n" + "".join(f"{i},{x:.3f}\n" for i, x, _ in rows))
    usage = ("Public", "Private", "Private", "Final")
    lines = (f"{i},{y},{usage[at % 4]}\n" for at, (i, _, y) in enumerate(rows))
    (here / "solution.csv").write_text("id,price,Usage\n" + "".join(lines))
    return here
