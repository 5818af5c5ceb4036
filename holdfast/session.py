"""The connection that a command works with."""

from holdfast import config, output
from holdfast.client import Client


def connect() -> Client:
    """Return a client for the server and account that environment and configuration name."""
    settings = config.current()
    path = config.config_path()
    if config.readable_by_others(path):
        output.warn(f"{path} holds your token and others can read it: run `chmod 600 {path}`.")
    return Client(settings)
