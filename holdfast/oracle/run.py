"""A running oracle: from what was ordered to an open door, in an order that leaves nothing open.

Started by root: the labels' file is opened, doors are made for the agent, and only then root is
given up, before any byte of labels, of the ledger or of an agent is read.
"""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from durable.files import give_to_owner
from holdfast import output
from holdfast.errors import Failure
from holdfast.oracle import private, serving
from holdfast.oracle.engine import Declared, Engine
from holdfast.oracle.labels import Layout, open_labels
from holdfast.oracle.ledger import Ledger
from holdfast.oracle.private import Closed, User
from holdfast.oracle.setup import KEYS, Choice, hold_directory, open_all
from scoring.errors import ParameterError
from scoring.gates import Gate, loss_of_mark, loss_of_tolerance
from scoring.metrics import Metric
from scoring.predictions import Schema


@dataclass(frozen=True)
class Order:
    """What was ordered on the command line.

    gates: names and what they ask, as texts. user: whom root becomes; "" for nobody. agent: who
    asks; "" for whoever started this.
    """

    labels: Path
    directory: Path
    layout: Layout
    choice: Choice
    gates: tuple[tuple[str, str], ...] = ()
    in_use: Path | None = None
    socket: Path | None = None
    port: int | None = None
    user: str = ""
    agent: str = ""
    require_private: bool = False
    most_bytes: int = 50_000_000


@dataclass(frozen=True)
class Running:
    """An oracle that answers. `address` is where, as `holdfast.Oracle` takes it."""

    engine: Engine
    address: str

    def wait(self) -> None:
        """Wait until somebody ends it."""
        ended = threading.Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: ended.set())
        while not ended.wait(3600):
            pass


@contextmanager
def running(order: Order) -> Iterator[Running]:
    """Serve while the context lasts. Raises Failure before anything listens for long."""
    agent = User.find(order.agent) if order.agent else private.starter()
    servant = _servant(order)
    order.choice.found_metric()
    if order.require_private and order.port is not None:
        raise Failure(
            "On loopback nobody knows who asks, so --require-private can't be kept there.",
            hint="Serve a local socket alone, without --http.",
        )
    with ExitStack() as stack:
        source = stack.enter_context(open_labels(order.labels))
        in_use = stack.enter_context(order.in_use.open("rb")) if order.in_use else None
        _prepare(order.directory, servant)
        stack.enter_context(hold_directory(order.directory))
        if servant is not None:
            give_to_owner(order.directory / "lock", order.directory)
        closed = Closed.look([order.labels])
        doors = list(_doors(order, agent, stack))
        if servant is not None:
            private.become(servant)
        opened = open_all(order.directory, source, order.labels.name, order.layout, order.choice)
        stack.callback(opened.ledger.close)
        closed = Closed((*closed.files, *Closed.look([order.directory / KEYS]).files))
        _check_private(closed, agent, required=order.require_private)
        engine = Engine(opened, order.most_bytes)
        engine.declare(_declared(order, engine, opened.ledger, in_use.read() if in_use else None))
        admit = _Gatekeeper(closed, agent if order.agent else None, order.require_private)
        for server, _ in doors:
            serving.serve(server, engine, admit)
            stack.callback(server.shutdown)
        oracle = Running(engine, doors[0][1])
        _say(oracle, [address for _, address in doors], is_new=opened.is_new)
        yield oracle


def share(text: str) -> Fraction:
    """Return a share of the rows. Raises Failure."""
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError):
        found = Fraction(0)
    if not 0 < found < 1:
        raise Failure(f"--public: a share between 0 and 1 was expected, not {text!r}.")
    return found


def read_schema(path: Path) -> Schema:
    """Return the columns of a file. Raises Failure."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Schema.from_json(data.get("schema", data) if isinstance(data, dict) else data)
    except ValueError:
        raise Failure(f"{path} is not JSON.") from None
    except ParameterError as error:
        raise Failure(f"The columns in {path} can't be read: {error.message}") from None


def _servant(order: Order) -> User | None:
    """Return whom root becomes; None where nobody has to be become."""
    if os.geteuid() != 0:
        if order.user and User.find(order.user).uid != os.geteuid():
            raise Failure(f"Only root can become {order.user}.", hint="Start it by sudo.")
        return None
    found = User.find(order.user or private.NOBODY)
    return None if found.uid == 0 else found


def _prepare(directory: Path, servant: User | None) -> None:
    """Make the ledger's folder, the servant's own. Raises Failure where it is another's."""
    is_new = not directory.exists()
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Failure(f"{directory} can't be made: {error.strerror}.") from None
    if servant is None:
        return
    if (closed := private.closed_folder(directory, servant)) is not None:
        raise Failure(
            f"The user {servant.name} can't reach {directory}: {closed} is closed to it.",
            hint="Name another folder with --ledger, or another user with --user.",
        )
    if is_new:
        os.chown(directory, servant.uid, servant.gid, follow_symlinks=False)
    elif directory.stat().st_uid != servant.uid:
        owner = User.find(str(directory.stat().st_uid)).name
        raise Failure(f"{directory} belongs to {owner}; this oracle is to run as {servant.name}.")


def _doors(order: Order, agent: User, stack: ExitStack) -> Iterator[tuple[Any, str]]:
    """Yield the servers that listen, with their addresses."""
    if order.socket is not None:
        mode, group = 0o600, None
        if os.geteuid() == 0 or agent.uid != os.geteuid():
            mode, group = _door_for(agent)
        server = serving.listen_locally(order.socket, mode, group)
        stack.callback(_take_away, order.socket)
        stack.callback(server.server_close)
        yield server, f"unix:{order.socket}"
    if order.port is not None:
        loopback = serving.listen_on_loopback(order.port)
        stack.callback(loopback.server_close)
        yield loopback, f"http://127.0.0.1:{loopback.server_address[1]}"


def _door_for(agent: User) -> tuple[int, int | None]:
    """Return mode and group of a socket that an agent can use; who comes is asked at the door."""
    if os.geteuid() == 0 or agent.gid in os.getgroups():
        return 0o660, agent.gid
    return 0o666, None


def _take_away(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _check_private(closed: Closed, agent: User, *, required: bool) -> None:
    found = list(closed.readable_by(agent))
    if not found:
        return
    text = (
        f"{agent.name} (uid {agent.uid}), who asks, can read {found[0]} itself: answers are "
        "counted, but nothing here keeps the labels from it."
    )
    hint = (
        "Give the labels to a user of their own with mode 0600, and start the oracle by root with "
        "--user and --agent."
    )
    if required:
        raise Failure(text, hint=hint)
    output.warn(f"{text} {hint}")


class _Gatekeeper:
    """Who may ask: the agent, where one is named; and, if so ordered, nobody who reads labels."""

    def __init__(self, closed: Closed, agent: User | None, required: bool) -> None:
        self._closed, self._agent, self._required = closed, agent, required
        self._known: dict[int, str] = {}

    def __call__(self, uid: int | None) -> str:
        if uid is None:
            return ""
        if uid not in self._known:
            self._known[uid] = self._look(User.find(str(uid)))
        return self._known[uid]

    def _look(self, user: User) -> str:
        is_own = user.uid in (0, os.geteuid())
        if self._agent is not None and user.uid != self._agent.uid and not is_own:
            return f"This oracle answers {self._agent.name} alone, not {user.name}."
        if any(self._closed.readable_by(user)):
            text = f"{user.name} (uid {user.uid}) can read the labels itself"
            if self._required:
                return f"{text}, and this oracle answers only who can't."
            output.warn(f"{text} and asks.")
        return ""


def _declared(
    order: Order, engine: Engine, ledger: Ledger, in_use: bytes | None
) -> tuple[Declared, ...]:
    """Return the gates, written down before anybody asks them. Raises Failure."""
    if not order.gates:
        return ()
    if order.choice.gates is None:
        raise Failure("--gate: say with --gates how many may be asked; half of beta is kept then.")
    known = None if in_use is None else engine.read(in_use)
    found = []
    metric = engine.setup.metric
    for name, text in order.gates:
        try:
            asked = _gate(text, metric, engine.setup.rules.metric_parameters)
            asked.check(metric)
        except ParameterError as error:
            raise Failure(f"--gate {name}={text}: {error.message}") from None
        if asked.compares and known is None:
            raise Failure(f"--gate {name}={text}: it compares with a file: name it with --in-use.")
        digest = known.digest if known is not None and asked.compares else ""
        uid = ledger.declare(name, asked, digest)
        found.append(Declared(name, uid, asked, known if asked.compares else None))
    return tuple(found)


def _gate(text: str, metric: Metric, parameters: Any) -> Gate:
    kind, *values = text.split(":")
    try:
        match kind, values:
            case "mark", [score]:
                return Gate("mark", loss_of_mark(metric, parameters, float(score)))
            case "not_worse", [tolerance, *differing] if len(differing) < 2:
                bound = loss_of_tolerance(metric, parameters, float(tolerance))
                return Gate("not_worse", bound, Fraction(*differing or ("1",)))
            case "better", []:
                return Gate("better")
    except (ValueError, ZeroDivisionError):
        pass
    raise ParameterError("gate", "mark:SCORE, not_worse:TOLERANCE[:SHARE] or better was expected.")


def _say(oracle: Running, addresses: list[str], *, is_new: bool) -> None:
    facts = oracle.engine.facts()
    limit = "no limit" if facts["limit"] is None else f"at most {facts['limit']:,} questions"
    begun = "begins" if is_new else f"goes on after {facts['guarantee']['answered']:,}"
    output.note(
        f"{facts['metric_title']} by {facts['mechanism']} on {facts['private_rows']:,} private rows"
        f" of {facts['rows']:,}; {limit}. The ledger {begun}."
    )
    output.note(facts["guarantee"]["sentence"], "bold" if facts["no_guarantee"] else "")
    output.note(f"Answering at {' and '.join(addresses)}; Ctrl-C ends it.")
