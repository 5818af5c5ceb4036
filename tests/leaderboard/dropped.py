"""Files as organizers drop them: small data sets of several kinds, made up."""

from __future__ import annotations

import numpy as np
from django.core.files.base import ContentFile, File

Texts = dict[str, str]
ROWS = 400


def files(texts: Texts, **change: str | None) -> dict[str, File[bytes]]:
    """Return files by role; None leaves one out."""
    names = {"sample": "sample_submission.csv"}
    return {
        role: ContentFile(text.encode(), names.get(role, f"{role}.csv"))
        for role, text in (texts | change).items()
        if text is not None
    }


def binary(rows: int = ROWS, share: float = 0.45) -> Texts:
    """Churn, as 0 and 1."""
    draw = np.random.default_rng(3)

    def table(start: int, count: int, *, labelled: bool) -> str:
        lines = ["id,age,plan,churned" if labelled else "id,age,plan"]
        for row in range(start, start + count):
            cells = [str(row), str(draw.integers(18, 80)), str(draw.choice(["basic", "plus"]))]
            lines.append(",".join(cells + ([str(int(draw.random() < share))] if labelled else [])))
        return "\n".join(lines) + "\n"

    train, test = table(0, 2 * rows, labelled=True), table(5000, rows, labelled=False)
    labels = "".join(f"{row},{int(draw.random() < share)}\n" for row in range(5000, 5000 + rows))
    return {"train": train, "test": test, "solution": f"id,churned\n{labels}"}


def minutes(rows: int = ROWS, days: int = 40) -> Texts:
    """Delays in minutes on different days; the days of the test data are days of their own."""
    draw = np.random.default_rng(4)

    def table(first: int, count: int, *, labelled: bool) -> tuple[str, str]:
        lines = ["flight,date,distance,delay" if labelled else "flight,date,distance"]
        labels = ["flight,delay"]
        for row in range(count):
            date = np.datetime64("2026-01-01") + first + row % days
            name, delay = f"F{first}-{row}", round(float(draw.gamma(1.2, 20)), 1)
            lines.append(f"{name},{date},{draw.integers(100, 3000)}" + f",{delay}" * labelled)
            labels.append(f"{name},{delay}")
        return "\n".join(lines) + "\n", "\n".join(labels) + "\n"

    train, _ = table(0, 2 * rows, labelled=True)
    test, solution = table(100, rows, labelled=False)
    return {"train": train, "test": test, "solution": solution}


def classes(rows: int = ROWS) -> Texts:
    """Three species; the sample asks for a probability of each."""
    draw = np.random.default_rng(5)
    names = ("adelie", "chinstrap", "gentoo")
    shares = (0.45, 0.2, 0.35)

    def rows_of(start: int, count: int) -> list[tuple[str, str, str]]:
        return [
            (f"p{row}", f"{draw.normal(45, 5):.1f}", str(draw.choice(names, p=shares)))
            for row in range(start, start + count)
        ]

    train = "".join(f"{a},{b},{c}\n" for a, b, c in rows_of(0, 2 * rows))
    held = rows_of(9000, rows)
    return {
        "train": f"id,bill,species\n{train}",
        "test": "id,bill\n" + "".join(f"{a},{b}\n" for a, b, _ in held),
        "solution": "id,species\n" + "".join(f"{a},{c}\n" for a, _, c in held),
        "sample": "id,adelie,chinstrap,gentoo\n"
        + "".join(f"{a},0.33,0.33,0.34\n" for a, _, _ in held),
    }
