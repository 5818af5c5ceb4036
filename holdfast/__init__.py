"""The participants' client: `import holdfast`, and the command line that is made of it.

It talks to a Holdfast server through its API v1 alone. docs/client.md lists what is public.
"""

from importlib.metadata import version

from holdfast import errors, twin
from holdfast.client import Client, Competition, SentBefore
from holdfast.errors import Failure, Refused, Rejected
from holdfast.oracle.client import Oracle
from holdfast.records import Board, Record, Rows, Submission

__all__ = [
    "Board",
    "Client",
    "Competition",
    "Failure",
    "Oracle",
    "Record",
    "Refused",
    "Rejected",
    "Rows",
    "SentBefore",
    "Submission",
    "errors",
    "twin",
]
__version__ = version("holdfast")
