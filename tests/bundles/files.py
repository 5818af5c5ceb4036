"""A small bundle as files, and archives made of files."""

import io
import zipfile

YAML = b"""\
version: 1
slug: kinds
title: Kinds
texts: {overview: overview.md, rules: rules.md}
rounds:
  - opens_at: 2027-01-01
    closes_at: 2099-01-01T12:00:00Z
    daily_limit: 5
    columns:
      id_column: id
      columns:
        - {name: label, kind: label, classes: [0, 1, 2, 3]}
    boards:
      - metric: accuracy
        mechanism: ladder
        mechanism_parameters: {steps: 20}
    files:
      - {path: data/train.csv, role: train}
    solution: solution.csv
"""


def bundle(**changed: bytes) -> dict[str, bytes]:
    """Return the files of a bundle; `yaml` is its holdfast.yaml."""
    lines = [
        b"r%d,%d,%s\n" % (row, row % 4, b"Public" if row < 8 else b"Private") for row in range(40)
    ]
    return {
        "holdfast.yaml": changed.get("yaml", YAML),
        "overview.md": b"# Kinds\n\nTell them apart.",
        "rules.md": b"Play fair.",
        "data/train.csv": b"x,label\n1,0\n",
        "solution.csv": b"id,label,Usage\n" + b"".join(lines),
    }


def archive(files: dict[str, bytes]) -> io.BytesIO:
    """Return a zip archive of files."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    file.seek(0)
    return file
