"""How gunicorn is configured."""

import runpy
import socket
import struct
from pathlib import Path
from types import SimpleNamespace

CONFIGURATION = Path(__file__).parents[2] / "gunicorn.conf.py"


def test_a_client_that_falls_silent_does_not_keep_a_thread() -> None:
    configuration = runpy.run_path(str(CONFIGURATION))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = SimpleNamespace(LISTENERS=[SimpleNamespace(sock=listener)])
        configuration["when_ready"](server)
        with socket.create_connection(listener.getsockname()):
            accepted, _ = listener.accept()
            with accepted:
                wait = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, 16)
    assert struct.unpack("ll", wait) == (configuration["SILENCE_SECONDS"], 0)
