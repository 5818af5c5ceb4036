"""What is imported once and stays, and what becomes garbage."""

import gc


def settle() -> None:
    """Leave alone, from now on, whatever was imported when garbage is looked for."""
    gc.collect()
    gc.freeze()
