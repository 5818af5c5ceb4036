"""Who can read an oracle's labels, who may ask it, and whom it becomes."""

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Failure
from holdfast.oracle.private import Closed, User, closed_folder
from holdfast.oracle.run import running
from tests.holdfast.oracles import Place, Process, guess

IS_ROOT = os.geteuid() == 0
OWNER, OTHER = 54321, 54322


@pytest.fixture
def place() -> Iterator[Place]:
    """A folder that everybody can go through."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        Path(folder).chmod(0o755)
        yield Place(Path(folder))


def user(uid: int, *groups: int) -> User:
    return User(uid, uid, str(uid), frozenset(groups or {uid}))


def ask_as(uid: int, path: Path) -> bytes:
    """The first line that some user gets for a question."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with socket.socket(socket.AF_UNIX) as own:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            try:
                own.connect(str(path))
                head = (
                    f"POST /api/v1/questions/ HTTP/1.1\r\nContent-Length: {len(guess(9))}\r\n\r\n"
                )
                own.sendall(head.encode() + guess(9))
                os.write(writes, own.recv(100))
            except OSError as error:
                os.write(writes, str(error.strerror).encode())
        os._exit(0)
    os.close(writes)
    os.waitpid(child, 0)
    with os.fdopen(reads, "rb") as found:
        return found.readline().strip()


@pytest.mark.parametrize(
    ("mode", "above", "who", "readable"),
    [
        (0o600, 0o755, user(os.getuid() or 1, 4), IS_ROOT is False),
        (0o644, 0o755, user(OTHER), True),
        (0o640, 0o755, user(OTHER), False),
        (0o640, 0o755, user(OTHER, os.getgid()), True),
        (0o644, 0o700, user(OTHER), False),
        (0o600, 0o700, user(0), True),
    ],
)
def test_modes_of_a_file_and_its_folders_say_who_can_read_it(
    place: Place, mode: int, above: int, who: User, readable: bool
) -> None:
    folder = place.folder / "closed"
    folder.mkdir()
    (folder / "labels").touch()
    (folder / "labels").chmod(mode)
    folder.chmod(above)
    assert any(Closed.look([folder / "labels"]).readable_by(who)) is readable


def test_labels_that_the_agent_can_read_are_named(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    with place.serve(agent=str(os.getuid())) as (oracle, _):
        oracle.ask(guess(9))
    warning = capsys.readouterr().err
    assert f"(uid {os.getuid()}), who asks, can read {place.file} itself" in warning
    assert "--user and --agent" in warning


def test_labels_that_the_agent_can_read_are_refused_where_that_is_ordered(place: Place) -> None:
    with pytest.raises(Failure, match="can read"), place.serve(require_private=True):
        pass


def test_an_unknown_user_is_named(place: Place) -> None:
    with pytest.raises(Failure, match="no user 'nosuchuser'"), place.serve(agent="nosuchuser"):
        pass


def test_a_folder_that_the_other_user_can_not_reach_is_named(place: Place) -> None:
    assert closed_folder(place.ledger, user(OTHER)) is None
    place.folder.chmod(0o700)
    assert closed_folder(place.ledger, user(OTHER)) == place.folder
    if IS_ROOT:
        order = place.order(user=str(OTHER))
        with pytest.raises(Failure, match="is closed to it"), running(order):
            pass


def test_root_becomes_another_user_and_answers_the_agent_alone(place: Place) -> None:
    """Started by others, it can become nobody, and says so."""
    order = place.order(agent=str(OTHER), user=str(OWNER), require_private=True)
    served = Process(order)
    if not IS_ROOT:
        with pytest.raises(Failure, match="Only root can become"), place.serve(user=str(OWNER)):
            pass
        return
    assert order.socket is not None
    served.start()
    try:
        assert ask_as(OTHER, order.socket) == b"HTTP/1.1 200 OK"
        assert served.process is not None
        status = Path(f"/proc/{served.process.pid}/status").read_text()
        assert f"Uid:\t{OWNER}\t{OWNER}\t{OWNER}\t{OWNER}" in status
        assert ask_as(OTHER + 1, order.socket) == b"Permission denied"
        order.socket.chmod(0o666)
        assert ask_as(OTHER + 1, order.socket) == b"HTTP/1.1 403 Forbidden"
        assert (place.ledger / "secret").stat().st_uid == OWNER
        assert place.ledger.stat().st_mode & 0o077 == 0
    finally:
        served.kill()
