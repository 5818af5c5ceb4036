"""The participants' command line: talks to a Holdfast server through its API v1, nothing else."""

from importlib.metadata import version

__version__ = version("holdfast")
