"""How large a file may be."""

from dataclasses import dataclass

from scoring.errors import ParameterError, Problem

CHUNK = 1 << 20


@dataclass(frozen=True)
class Limits:
    """How large a file may be.

    max_bytes: of the upload itself. max_expanded_bytes: of the table as CSV text, when the upload
    is gzip, zstd, zip or Parquet. max_ratio: how many times larger than the upload that text may
    be, once it has more than a mebibyte: nobody's predictions shrink that much.
    max_cell_length: characters; a longer cell is named as such instead of being described.
    """

    max_bytes: int = 512 * 2**20
    max_expanded_bytes: int = 1024 * 2**20
    max_ratio: int = 500
    max_rows: int = 20_000_000
    max_columns: int = 2_000
    max_cell_length: int = 1_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if type(value) is not int or value < 1:
                raise ParameterError(name, "A limit is a whole number, at least 1.")

    @classmethod
    def of_upload(cls, most: int) -> "Limits":
        """Of a competition that takes uploads of at most so many bytes.

        An archive saves the upload's time; it doesn't let in what would be far too large without.
        """
        return cls(max_bytes=most, max_expanded_bytes=min(cls.max_expanded_bytes, 4 * most))

    def broken_by(self, expanded: int, upload: int) -> Problem | None:
        """What is wrong with an upload of so many bytes that expands to so many."""
        if expanded > self.max_expanded_bytes:
            return too_large("The file expands to", self.max_expanded_bytes)
        if expanded > max(self.max_ratio * upload, CHUNK):
            return Problem(
                "expands_too_much",
                f"The file expands to more than {self.max_ratio} times its size.",
                expected=f"at most {self.max_ratio} times the size of the upload",
            )
        return None


DEFAULT_LIMITS = Limits()


def too_large(subject: str, limit: int) -> Problem:
    """More bytes than allowed."""
    size = f"{limit / 2**20:.4g} MiB" if limit >= 2**20 else f"{limit} bytes"
    return Problem(
        "too_many_bytes",
        f"{subject} more than {size}, which is the limit.",
        expected=f"at most {limit} bytes",
    )
