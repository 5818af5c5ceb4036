"""Whatever a bundle is: tell its format, and read it."""

from bundles.bundle import NAME, Bundle, read_bundle
from bundles.codabench import is_codabench, read_codabench
from bundles.errors import fail
from bundles.folders import Folder
from bundles.kaggle import is_kaggle, read_kaggle


def read_any(folder: Folder) -> Bundle:
    """Return the competition of a bundle of Holdfast, Codabench or Kaggle. Raises BundleError."""
    if NAME in folder:
        return read_bundle(folder)
    if is_codabench(folder):
        return read_codabench(folder)
    if is_kaggle(folder):
        return read_kaggle(folder)
    shown = ", ".join(folder.names[:5]) or "nothing"
    raise fail(
        "",
        f"A {NAME} was expected, or a competition.yaml of Codabench, or Kaggle's files with a "
        f"solution.csv. It holds {shown}.",
    )
