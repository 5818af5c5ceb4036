"""The loop that talks to clients does as much as there is to do, however many clients wait."""

import socket
from collections.abc import Callable, Iterator

import pytest

from leaderboard.platform.event_loop import Connections


class Client:
    """A connection, as the loop sees one."""

    accepting = False
    connected = True

    def __init__(self) -> None:
        self.socket, self.other = socket.socketpair()
        self.asked = self.read = self.written = 0
        self.requests = list[object]()
        self.answer = b""

    def readable(self) -> bool:
        self.asked += 1
        return not self.requests

    def writable(self) -> bool:
        return bool(self.answer)

    def handle_read_event(self) -> None:
        self.read += len(self.socket.recv(100))

    def handle_write_event(self) -> None:
        self.written += self.socket.send(self.answer)
        self.answer = b""

    def close(self) -> None:
        self.socket.close()
        self.other.close()


@pytest.fixture
def connections() -> Connections:
    return Connections()


@pytest.fixture
def join(connections: Connections) -> Iterator[Callable[[], Client]]:
    clients = list[Client]()

    def join() -> Client:
        client = Client()
        clients.append(client)
        connections[client.socket.fileno()] = client
        return client

    yield join
    for client in clients:
        client.close()


def test_who_waits_is_asked_once(connections: Connections, join: Callable[[], Client]) -> None:
    waiting, sender = [join() for _ in range(20)], join()
    for _ in range(10):
        sender.other.send(b"more")
        connections.handle(1)
    assert sender.read == 40
    assert {client.asked for client in waiting} == {1}
    connections.ask_all()
    connections.handle(0)
    assert {client.asked for client in waiting} == {2}


def test_what_a_thread_made_is_sent_before_anything_is_waited_for(
    connections: Connections, join: Callable[[], Client]
) -> None:
    client, request = join(), object()
    client.requests.append(request)
    connections.served.add(client)
    client.other.send(b"the next request")
    connections.handle(0)
    assert (client.read, client.written) == (0, 0)
    client.requests.remove(request)
    client.answer = b"answer"
    connections.handle(0)
    assert client.other.recv(100) == b"answer"
    assert client.read == len("the next request")
    assert not connections.served


def test_what_does_not_fit_is_sent_when_there_is_room(
    connections: Connections, join: Callable[[], Client]
) -> None:
    client = join()
    client.answer = b"first"
    connections.handle(0)
    assert client.other.recv(100) == b"first"
    connections.handle(0)
    assert client.written == len("first")


def test_who_left_is_forgotten_and_the_next_one_may_have_the_number(
    connections: Connections, join: Callable[[], Client]
) -> None:
    gone = join()
    connections.handle(0)
    number = gone.socket.fileno()
    del connections[number]
    gone.other.send(b"too late")
    connections.handle(0)
    assert gone.read == 0
    connections[number] = gone
    connections.handle(0)
    assert gone.read == len("too late")
