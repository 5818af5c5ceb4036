"""What Django asks of a database engine: see its `is_usable`."""

from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base


class _Cursor(base.SQLiteCursorWrapper):
    """A cursor that puts SQLite's marks into a statement without searching it by a pattern."""

    def convert_query(self, query: str, *, param_names: list[str] | None = None) -> str:
        if param_names is None and "%%" not in query:
            return query.replace("%s", "?")
        converted: str = super().convert_query(query, param_names=param_names)
        return converted


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that is used as long as the file that it opened is where it was.

    SQLite itself does not look, with a write-ahead log: who puts another file there, as an operator
    who restores a copy by hand, would have what is written until the connection ends lost with the
    old one. Each request asks once (`CONN_HEALTH_CHECKS`).
    """

    _opened: tuple[int, int] | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect, and note to which file."""
        self._opened = self._file()
        return super().get_new_connection(conn_params)

    def create_cursor(self, name: str | None = None) -> Any:
        """Return a cursor of the connection."""
        return self.connection.cursor(factory=_Cursor)

    def is_usable(self) -> bool:
        """Return whether what was opened is still what others would open."""
        return self._opened == self._file()

    def _file(self) -> tuple[int, int] | None:
        try:
            found = Path(self.settings_dict["NAME"]).stat()
        except OSError:
            return None  # in memory, or made by whoever connects first
        return found.st_dev, found.st_ino
