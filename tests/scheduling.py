"""Which tests go to one process together, where pytest-xdist spreads the suite over several.

Tests that share an installation, a browser or two worlds go together, so that these are made once.
All others are spread one by one, and last, so that no process has to wait long for another. But one
process begins with them: tests of servers wait much, and if all did at once, cores would be idle.

`--dist loadgroup` does the like by marks, which it writes into node ids; pytest 9.2 ignores that
(pytest-xdist#1386). Here the node id itself says with what a test belongs together.
"""

import os
import re
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    re.compile(r"(tests/browser/)"),
    re.compile(r"(tests/servers/\w+\.py)::.*[\[-](sqlite|postgres)[\]-]"),
    re.compile(r"(tests/servers/\w+\.py)"),
    re.compile(r"(tests/test_noninterference\.py)"),
)


def unit(nodeid: str) -> str:
    """The name of all that a test goes together with: its own node id if it goes alone."""
    for pattern in TOGETHER:
        if found := pattern.match(nodeid):
            return " on ".join(found.groups())
    return nodeid


class TogetherScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it ships no types
    """Gives each process a whole unit at a time, those of the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give the last process tests that go alone, as long as there are any."""
        alone = next((each for each in self.workqueue if "::" in each), None)
        if alone and node is self.nodes[-1]:
            self.workqueue.move_to_end(alone, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: tests of servers wait most of their time."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)  # pytest may be told to do without pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> TogetherScheduling:
    return TogetherScheduling(config, log)
