"""What programs search over, on real data: models of how brightness goes on in two photographs.

The photographs are those that scikit-learn ships. A row is a patch of 3 by 3 grey pixels, drawn
anew for each run without replacement; its label is whether the pixel four to the right of the patch
is brighter than the patch's last. A model is a ridge regression on random features, the same for
all, with exceptions: "patches like this one go up". Which exceptions are made is what programs
search over, as they do that add special cases as long as the score rises.

A model is a function of the patch, and nothing here reads the patches of Private rows: so what a
score stands for is the mean over all patches, and fresh rows show it up to their sampling error.
"""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

PHOTOGRAPHS: Final = ("china.jpg", "flower.jpg")
SIDE, AHEAD = 3, 4  # pixels
FEATURES, FREQUENCY, RIDGE = 20, 1 / 30, 20.0
POPULATION, COURTING = 8, 4
INHERITED, PARTS = 500, 20

# How exceptions are made: of how many pixels, and of how many training rows.
KINDS: Final = tuple(product((2, 3, 4), (4, 10)))

Floats = NDArray[np.float32]
Search = Generator[Floats, float | None, None]


@dataclass(frozen=True)
class Sizes:
    """How many rows each set has, how many exceptions there are to choose from, and the calls."""

    training: int = 4000
    public: int = 8000
    private: int = 2000
    fresh: int = 8000
    exceptions: int = 3000
    calls: int = 10_000


@dataclass(frozen=True, eq=False)
class Task:
    """The Public, Private and fresh rows of a run, in this order, and what models say of them.

    truth: whether it gets brighter. start: the model without exceptions, 1 where it says so and
    -1 elsewhere. exceptions: the rows that each is about, ordered by kind. inherited: the rows that
    some of them are about, which a child may have from its second parent.
    """

    sizes: Sizes
    truth: NDArray[np.bool_]
    start: Floats
    exceptions: list[NDArray[np.int64]]
    inherited: list[NDArray[np.int64]]

    def count_wrong(self, model: Floats) -> tuple[int, int]:
        """Return how many Public and Private rows a model gets wrong."""
        asked = self.sizes.public + self.sizes.private
        wrong = (model[:asked] > 0) != self.truth[:asked]
        public = int(np.count_nonzero(wrong[: self.sizes.public]))
        return public, int(np.count_nonzero(wrong)) - public

    def fresh_loss(self, model: Floats) -> float:
        """Return the mean loss on fresh rows."""
        asked = self.sizes.public + self.sizes.private
        return float(np.mean((model[asked:] > 0) != self.truth[asked:]))

    def change(self, model: Floats, chance: np.random.Generator, kind: int | None = None) -> Floats:
        """Return the model with one more exception, of this kind or of any."""
        each = len(self.exceptions) // len(KINDS)
        low, high = (0, each * len(KINDS)) if kind is None else (kind * each, kind * each + each)
        drawn = int(chance.integers(2 * low, 2 * high))
        changed = model.copy()
        changed[self.exceptions[drawn // 2]] = 1 if drawn % 2 else -1
        return changed


def draw_task(sizes: Sizes, chance: np.random.Generator) -> Task:
    """Draw rows, fit the model, and find what exceptions there are."""
    patches, truth = _draw_rows(sizes.training + sizes.public + sizes.private + sizes.fresh, chance)
    trained, others = patches[: sizes.training], patches[sizes.training :]
    start = _fit(trained, truth[: sizes.training], others, chance)
    each = sizes.exceptions // len(KINDS)
    known, asked = (np.ascontiguousarray(rows.T) for rows in (trained, others))
    exceptions = [
        _rows_like(known, asked, pixels, nearest, chance)
        for pixels, nearest in KINDS
        for _ in range(each)
    ]
    inherited = [
        np.concatenate([exceptions[each] for each in chance.integers(len(exceptions), size=PARTS)])
        for _ in range(INHERITED)
    ]
    return Task(sizes, truth[sizes.training :], start, exceptions, inherited)


def climb(task: Task, chance: np.random.Generator) -> Search:
    """Keep each change by which the shown loss does not rise."""
    model = task.start
    known = yield model
    while True:
        tried = task.change(model, chance)
        shown = yield tried
        if is_kept(shown, known):
            model, known = tried, shown


def evolve(task: Task, chance: np.random.Generator) -> Search:
    """Keep a population; a changed child of two takes the worst's place, unless it is worse.

    The parents are the best two of some. The child is the first, but says of rows that some
    exceptions are about what the second does.
    """
    population: list[tuple[float | None, Floats]] = []
    for _ in range(POPULATION):
        model = task.change(task.start, chance)
        population.append(((yield model), model))

    def loss(place: int) -> float:
        return _as_number(population[place][0])

    while True:
        one, other, *_ = sorted(chance.integers(POPULATION, size=COURTING).tolist(), key=loss)
        child = population[one][1].copy()
        rows = task.inherited[chance.integers(INHERITED)]
        child[rows] = population[other][1][rows]
        child = task.change(child, chance)
        shown = yield child
        worst = max(range(POPULATION), key=loss)
        if is_kept(shown, population[worst][0]):
            population[worst] = shown, child


def pull_arms(task: Task, chance: np.random.Generator) -> Search:
    """Climb by the kinds of change that pay, with a bandit (UCB1): one pays if the loss falls."""
    pulls, paid = np.ones(len(KINDS)), np.ones(len(KINDS))
    model = task.start
    known = yield model
    while True:
        bounds = paid / pulls + np.sqrt(2 * np.log(pulls.sum()) / pulls)
        arm = int(bounds.argmax())
        tried = task.change(model, chance, kind=arm)
        shown = yield tried
        pulls[arm] += 1
        if is_kept(shown, known):
            paid[arm] += _as_number(shown) < _as_number(known)
            model, known = tried, shown


SEARCHES: Final = {"hill climber": climb, "evolution": evolve, "bandit": pull_arms}


def is_kept(shown: float | None, known: float | None) -> bool:
    """Return whether a program keeps a change: its loss is shown and not worse."""
    return shown is not None and shown <= _as_number(known)


def _as_number(loss: float | None) -> float:
    return np.inf if loss is None else loss


def _draw_rows(rows: int, chance: np.random.Generator) -> tuple[Floats, NDArray[np.bool_]]:
    """Return patches, all pixels but the last less the last one, and whether it gets brighter."""
    greys = _photographs()
    down, right = greys.shape[1] - SIDE + 1, greys.shape[2] - SIDE - AHEAD + 1
    drawn = chance.choice(len(greys) * down * right, rows, replace=False)
    photograph, top, left = np.unravel_index(drawn, (len(greys), down, right))
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    patches = greys[photograph[:, None], top[:, None] + row, left[:, None] + column]
    last = patches[:, -1].copy()
    patches[:, :-1] -= last[:, None]
    return patches, greys[photograph, top + SIDE - 1, left + SIDE - 1 + AHEAD] > last


@cache
def _photographs() -> Floats:
    """Return the photographs, each a table of greys from 0 to 255."""
    from sklearn.datasets import load_sample_image

    return np.stack([load_sample_image(name)[:, :, 1] for name in PHOTOGRAPHS]).astype(np.float32)


def _fit(
    trained: Floats, truth: NDArray[np.bool_], others: Floats, chance: np.random.Generator
) -> Floats:
    """Return what a ridge regression on random cosines says of other rows, 1 or -1."""
    directions = chance.normal(scale=FREQUENCY, size=(trained.shape[1], FEATURES))
    phases = chance.uniform(0, 2 * np.pi, FEATURES)
    known, asked = (np.cos(rows @ directions + phases) for rows in (trained, others))
    square = known.T @ known + RIDGE * np.eye(FEATURES)
    weights = np.linalg.solve(square, known.T @ np.where(truth, 1.0, -1.0))
    return np.where(asked @ weights > 0, 1, -1).astype(np.float32)


def _rows_like(
    trained: Floats, others: Floats, pixels: int, nearest: int, chance: np.random.Generator
) -> NDArray[np.int64]:
    """Return the rows that are as near to a training row, by some pixels, as its neighbours.

    Both tables are pixels by rows.
    """
    picked = chance.choice(len(trained), pixels, replace=False).tolist()
    centre = trained[:, chance.integers(trained.shape[1])]
    far = np.abs(trained[picked] - centre[picked, None]).max(axis=0)
    radius = np.partition(far, nearest)[nearest]
    rows = np.flatnonzero(np.abs(others[picked[0]] - centre[picked[0]]) <= radius)
    for pixel in picked[1:]:
        rows = rows[np.abs(others[pixel, rows] - centre[pixel]) <= radius]
    return rows
