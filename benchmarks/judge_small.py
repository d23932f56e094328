"""Cost of judging a small history, as the simulator does thousands of times: `python benchmarks/judge_small.py [--tasks 30]`."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scenarios.judging.guarantees import Guarantee  # noqa: E402  # found by the line above
from scenarios.judging.judge import judge  # noqa: E402
from scenarios.record.history import History, Recorded  # noqa: E402
from tests.anomalies import effect_twice, planted  # noqa: E402
from tests.history_strategies import Draft, Life, live  # noqa: E402

ROUNDS = 300


def main() -> None:
    """Measure the index, the judgement of a good history, and of one with a broken guarantee."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=30)
    tasks = parser.parse_args().tasks
    draft = Draft(audited=True, leased=True)
    troubles = [(), (), (), ("transient",), ("crash",), ("lost_ack",)]
    for number in range(tasks):
        live(draft, f"task-{number}", Life("done", troubles[number % len(troubles)], frozenset({"status"}), number))
    bad, _ = planted(draft, effect_twice, 5)
    events = draft.all_events()
    print(f"{tasks} tasks, {len(events)} events, best of {ROUNDS}")
    print(f"index          {best_ms(lambda: History(events)):.3f} ms")
    for name, one in (("all held", draft), ("one broken", bad)):
        content = one.all_events()
        took_ms = best_ms(
            lambda content=content, one=one: judge(Recorded(History(content)), claims=Guarantee, policy=one.policy)
        )
        print(f"{name:<15}{took_ms:.3f} ms, {1000 / took_ms:,.0f} histories/s")


def best_ms(work: Callable[[], object]) -> float:
    """The shortest of ROUNDS tries: the cost without disturbance by other processes."""
    shortest_s = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        shortest_s = min(shortest_s, time.perf_counter() - begun)
    return shortest_s * 1000


if __name__ == "__main__":
    main()
