"""How large a file may be."""

import zipfile
from dataclasses import dataclass

from scoring.errors import ParameterError, Problem
from scoring.predictions.problems import Problems

MB = 1_000_000
CHUNK = 1 << 20  # what is read, expanded or looked at in one step


@dataclass(frozen=True)
class Limits:
    """How large a file may be.

    max_bytes: of the upload itself. max_expanded_bytes: of the table as CSV text, when the upload
    is gzip, zstd, zip or Parquet. max_ratio: how many times larger than the upload that text may
    be, once it has more than a megabyte: nobody's predictions shrink that much.
    max_cell_length: characters; a longer cell is named as such instead of being described.
    """

    max_bytes: int = 512 * MB
    max_expanded_bytes: int = 1000 * MB
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
        """Return the limits of a competition that takes uploads of at most so many bytes.

        An archive saves the upload's time; it doesn't let in what would be far too large without.
        """
        return cls(max_bytes=most, max_expanded_bytes=min(cls.max_expanded_bytes, 4 * most))

    def check_expanded(self, size: int, upload: int, problems: Problems) -> None:
        """Fail if an upload of so many bytes may not expand to `size`."""
        if size > self.max_expanded_bytes:
            limit = self.max_expanded_bytes
            problems.fail(Problem("too_many_bytes", variant="expanded", limit=limit))
        if size > max(self.max_ratio * upload, MB):
            problems.fail(Problem("expands_too_much", limit=self.max_ratio))


def check_member(member: zipfile.ZipInfo, problems: Problems) -> None:
    """Fail unless a member can be expanded a step at a time.

    Other methods expand as much at once as somebody made up, whatever the member announces.
    """
    if member.flag_bits & 1:
        problems.fail(Problem("zip_damaged", variant="password"))
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        problems.fail(Problem("zip_damaged", variant="method"))


DEFAULT_LIMITS = Limits()
