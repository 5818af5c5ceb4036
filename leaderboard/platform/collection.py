"""How often Python looks for garbage: a tenth of a page's time goes there, mostly for nothing."""

import gc
from typing import Final

_OBJECTS: Final = 10_000  # more than a page makes


def settle() -> None:
    """Leave alone what has been imported, and look for garbage once in several requests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, 20, 50)
