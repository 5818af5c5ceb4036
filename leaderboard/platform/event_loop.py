"""waitress's event loop, which costs what happens and not how many clients wait.

waitress asks every connection before each wait what it waits for. With hundreds of them that is a
large part of what a process does. Here the answers are kept, and a connection is asked again when
something happened to it, and with all others each second (`Server.maintenance`).
"""

import select
from typing import Any

from waitress.wasyncore import readwrite


class Connections(dict[int, Any]):
    """What a process reads from and writes to, by file number: the map that waitress keeps.

    `servers` accept clients. `served` are the channels that threads work on: they change meanwhile,
    and a thread that is done wakes the loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self.servers = list[Any]()
        self.served = set[Any]()
        # Other than epoll's, its list is changed without a call of the system, for which a thread
        # would have to wait for Python afterwards.
        self._poll = select.poll()
        self._changed = set[int]()
        self._watched = set[int]()

    def __setitem__(self, number: int, each: Any) -> None:
        super().__setitem__(number, each)
        # It is asked at the next round: its maker has not finished it.
        self._changed.add(number)

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        self._watch(number, 0)

    def ask_all(self) -> None:
        """Ask all at the next round what they wait for."""
        self._changed.update(self)

    def handle(self, seconds: float) -> None:
        """Wait so long for something to happen, and handle it."""
        for channel in tuple(self.served):
            self._look_after(channel)
        self._changed.update(server.socket.fileno() for server in self.servers)
        while self._changed:
            number = self._changed.pop()
            if (each := self.get(number)) is not None:
                # A socket that accepts is never writable.
                writes = each.writable() and not each.accepting
                self._watch(number, select.POLLIN * each.readable() | select.POLLOUT * bool(writes))
        for number, events in self._poll.poll(seconds * 1000):
            if (each := self.get(number)) is not None:
                self._changed.add(number)
                readwrite(each, events)

    def _look_after(self, channel: Any) -> None:
        """Send at once what a thread has made, as nearly every client can receive it."""
        if not channel.requests:
            self.served.discard(channel)
            if channel.connected and channel.writable():
                readwrite(channel, select.POLLOUT)
        if channel.connected:
            self._changed.add(channel.socket.fileno())

    def _watch(self, number: int, events: int) -> None:
        if events:
            self._watched.add(number)
            self._poll.register(number, events)
        elif number in self._watched:
            self._watched.remove(number)
            self._poll.unregister(number)
