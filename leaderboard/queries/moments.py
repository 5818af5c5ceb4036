"""Moments at which the holdout was asked, as anyone may see them."""

from datetime import datetime
from typing import overload


@overload
def to_the_second(moment: datetime) -> datetime: ...
@overload
def to_the_second(moment: None) -> None: ...
def to_the_second(moment: datetime | None) -> datetime | None:
    """Cut to whole seconds: finer ones would tell how long vault and noise took to answer."""
    return moment and moment.replace(microsecond=0)
