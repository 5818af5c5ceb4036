"""What is wrong with a bundle: where, what, and what was expected."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Trouble:
    """One thing that is wrong. `where` names a file, with the line where that is known."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}" if self.where else self.what


class BundleError(Exception):
    """A bundle that can't be used, with all that was found wrong."""

    def __init__(self, *troubles: Trouble) -> None:
        super().__init__("; ".join(map(str, troubles)))
        self.troubles = troubles


def fail(where: str, what: str) -> BundleError:
    """Return the error of a single trouble, to be raised."""
    return BundleError(Trouble(where, what))
