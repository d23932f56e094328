"""The rate that a system sustains on this machine: loads of rising rate, each a separate run, until one exceeds the capacity.

Run: python benchmarks/load_throughput.py [--system reference] [--rates 25,50,100,150,200] [--seconds 10] [--seed 1]
"""

import argparse
import os
import platform
import tempfile
from pathlib import Path

from loadtests.arrivals import LoadPlan
from loadtests.figures import is_as_planned
from scenarios.lookup import find_system
from scenarios.record.run_facts import LoadFigures, Percentiles
from tasklab.presentation.terminal import Progress
from tasklab.running.environments import EnvironmentName, make_environment
from tasklab.running.experiments import run_load

BACKLOG_MAX_S = 1.0
"""A rate is sustained if the open tasks at the end of the load are at most the submissions of this time."""
ROW = "| {:>6} | {:>8} | {:>18} | {:>18} | {:>8} | {:>10} | {:>8} |"
HEADINGS = ("rate/s", "offered", "202 p50 / p99 ms", "effect p50 / p99", "open", "exit code", "carried")


def main() -> None:
    """Measure each rate, and print a row of a Markdown table for it."""
    options = _options()
    plugin = find_system(options.system)
    print(
        f"{plugin.name}, {options.seconds:g} s per rate, seed {options.seed}; {os.cpu_count()} cores, {platform.platform()}"
    )
    print(ROW.format(*HEADINGS))
    print(ROW.format(*("-" * 6 for _ in HEADINGS)))
    environment = EnvironmentName(options.environment)
    with tempfile.TemporaryDirectory() as place, make_environment(environment, plugin) as world:
        say = Progress()
        for rate in options.rates:
            plan = LoadPlan(rate, options.seconds, options.seed)
            judged, figures = run_load(
                plan, plugin, world, struck=None, page=None, place=Path(place) / f"{rate:g}", repeat="", say=say
            )
            for problem in judged.judgement.problems if judged.judgement else ():
                say(problem)
            carried = is_sustained(figures)
            print(_row(figures, judged.exit_code, carried=carried), flush=True)
            if not carried:
                return


def is_sustained(figures: LoadFigures) -> bool:
    """Whether the system kept up with the load."""
    complete = figures.acknowledged == figures.planned and not figures.without_effect
    return is_as_planned(figures) and complete and figures.backlog <= figures.planned_per_s * BACKLOG_MAX_S


def _row(figures: LoadFigures, exit_code: int, *, carried: bool) -> str:
    return ROW.format(
        f"{figures.planned_per_s:g}",
        f"{figures.offered_per_s:g}",
        _in_ms(figures.answers),
        _in_ms(figures.effects),
        figures.backlog,
        exit_code,
        "yes" if carried else "no",
    )


def _in_ms(times: Percentiles | None) -> str:
    return "–" if times is None else f"{times.p50_s * 1000:.0f} / {times.p99_s * 1000:.0f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default="reference")
    parser.add_argument("--environment", default="local", choices=[name.value for name in EnvironmentName])
    parser.add_argument(
        "--rates", type=lambda text: [float(rate) for rate in text.split(",")], default=[25, 50, 75, 100, 125, 150, 200]
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
