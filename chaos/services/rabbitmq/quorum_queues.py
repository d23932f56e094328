"""The quorum queues that RabbitMQ forgets when it is killed within a moment of their declaration: avoided before a kill, seen after it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from chaos.deadline import Deadline, wait

SAVE_TIMEOUT_S = 2.0
QUEUE_NAME = re.compile(r"queue_resource\s*=>\s*\{resource,<<\"[^\"]*\">>,queue,<<\"([^\"]*)\">>\}")


class QuorumQueues:
    """Those of one node.

    The registry of quorum queues (Ra's names.dets) reaches the disk half a second after the last declaration. Killed
    before that, the broker starts such a queue anew: without its confirmed messages, and without ever electing a
    leader (rabbitmq-server issues 10070 and 15725). That is a defect of the broker, not a fault this lab was asked for.

    `unsaved`: what of them is newer than the registry on the disk, in words, or nothing (""). `configs`: the text of the
    configuration file of each of their members on this node.
    """

    def __init__(self, unsaved: Callable[[], str], configs: Callable[[], Iterable[str]]) -> None:
        self._unsaved = unsaved
        self._configs = configs
        self._twice_before: set[str] = set()

    def await_saved(self) -> None:
        """Wait until a kill would cost none of them; called right before it."""
        wait(self._unsaved, Deadline.after(SAVE_TIMEOUT_S))
        self._twice_before = self._started_twice()

    def confirmed_data_lost_by_kill(self) -> str:
        """The queues that the node has forgotten nevertheless, in words; nothing ("") if it knows them all."""
        forgotten = sorted(self._started_twice() - self._twice_before)
        if not forgotten:
            return ""
        return f"it forgot {', '.join(forgotten)} and the messages in it: declared less than half a second before it was killed"

    def _started_twice(self) -> set[str]:
        """Quorum queues with more than one member on this one node: it has started them anew."""
        found = [QUEUE_NAME.search(config) for config in self._configs()]
        return {name for name, members in Counter(match[1] for match in found if match).items() if members > 1}
