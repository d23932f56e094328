"""Quorum queues that RabbitMQ forgets if it is killed right after their declaration: avoided before a kill, detected after it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from chaos.deadline import Deadline, wait

SAVE_TIMEOUT_S = 3.0
MARKED_S = 0.4
"""The declaration marks the registry on disk as open, within moments; only a change later than that is the registry itself."""
QUEUE_NAME = re.compile(r"queue_resource\s*=>\s*\{resource,<<\"[^\"]*\">>,queue,<<\"([^\"]*)\">>\}")


def unsaved(registries_s: Sequence[float], configs_s: Sequence[float]) -> str:
    """What the registry on disk does not yet hold, as text, or "", by the times at which it and the configurations were written."""
    saved_s = max(registries_s, default=0.0)
    return "a queue" if any(written_s + MARKED_S > saved_s for written_s in configs_s) else ""


class QuorumQueues:
    """The quorum queues of one node.

    The registry of quorum queues (Ra's names.dets) is written to disk half a second after the last declaration. If the
    broker is killed before that, it recreates such a queue without its confirmed messages, and the queue never elects a
    leader (rabbitmq-server issues 10070 and 15725). That is a defect of the broker, not a fault of the scenario.

    `unsaved`: the queues that are newer than the registry on disk, as text, or "". `configs`: the text of the
    configuration file of each queue member on this node.
    """

    def __init__(self, unsaved: Callable[[], str], configs: Callable[[], Iterable[str]]) -> None:
        self._unsaved = unsaved
        self._configs = configs
        self._twice_before: set[str] = set()

    def await_saved(self) -> None:
        """Wait until a kill would lose no queue; called right before the kill."""
        wait(self._unsaved, Deadline.after(SAVE_TIMEOUT_S))
        self._twice_before = self._started_twice()

    def confirmed_data_lost_by_kill(self) -> str:
        """The queues that the node has forgotten all the same, as a sentence; "" if none."""
        forgotten = sorted(self._started_twice() - self._twice_before)
        if not forgotten:
            return ""
        return f"it forgot {', '.join(forgotten)} and the messages in it: declared less than half a second before it was killed"

    def _started_twice(self) -> set[str]:
        """Quorum queues with more than one member on this one node: it has recreated them."""
        found = [QUEUE_NAME.search(config) for config in self._configs()]
        return {name for name, members in Counter(match[1] for match in found if match).items() if members > 1}
