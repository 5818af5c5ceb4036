"""The participants' command line, which talks to a Holdfast server through its API v1 alone."""

from importlib.metadata import version

__version__ = version("holdfast")
