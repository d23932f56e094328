"""The metrics of a simulated world, held against its audit trail: an attempt that was surely settled has been counted so."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from reference_impl.metrics import Metrics
from reference_impl.task import HELD


class WorldMetrics:
    """The counters of all processes of the world that runs. One world runs at a time."""

    def __init__(self) -> None:
        self.present = Metrics()

    def begin(self) -> None:
        """A new world: all counters are 0."""
        self.present = Metrics()

    def settled(self) -> Counter[str]:
        """How many attempts were counted as settled, by outcome."""
        return Counter(
            {
                sample.labels["outcome"]: int(sample.value)
                for metric in self.present.settled.collect()
                for sample in metric.samples
                if sample.name.endswith("_total")
            }
        )


def wrong_counts(
    rows: Sequence[Any], counted: Counter[str], is_disturbed: Callable[[Any], bool], *, workers: Sequence[str]
) -> Iterator[str]:
    """`rows`: the audit rows of all tasks; those that a worker wrote in calm are counted, and no more than all of them."""
    settled = [row for row in rows if row.actor in workers and row.from_status in HELD and row.to_status not in HELD]
    every = Counter(row.to_status.lower() for row in settled)
    surely = Counter(row.to_status.lower() for row in settled if not is_disturbed(row))
    for outcome in every:
        if not surely[outcome] <= counted[outcome] <= every[outcome]:
            yield f"{every[outcome]} attempts were settled as {outcome}, and {counted[outcome]} counted"
