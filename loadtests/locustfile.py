"""The Locust file: `tasklab load` starts Locust with it; `locust -f` with --host, --rate and --duration works, too.

Locust's users wait for their answers, so their number would decide the rate. Here one user keeps a schedule instead.
"""

import time
from argparse import Namespace
from pathlib import Path
from typing import Any, ClassVar

from flask import Response, request
from locust import LoadTestShape, User, events, task
from locust.argument_parser import LocustArgumentParser
from locust.env import Environment
from locust.exception import StopUser
from locust.web import WebUI

from loadtests.arrivals import LoadPlan
from loadtests.generator import Generator
from loadtests.handing_over import read_live
from loadtests.reliability import TAB, TAB_KEY, TABLE, rows
from scenarios.contract.http_answers import HttpAnswer

FIGURES_PATH = "/stats/requests"
LOOPBACK = "127.0.0.1"


class Schedule(User):
    """The one user: it submits the whole plan, each task when it is due."""

    fixed_count = 1
    generator: ClassVar[Generator]

    @task
    def submit_all(self) -> None:
        """Returns when everything was answered."""
        self.generator.submit_all()
        raise StopUser


class UntilOver(LoadTestShape):
    """One user until the load is over; with a page, until the lab's figures are final, because the page reads on only while a test runs."""

    abstract = False
    directory: ClassVar[Path]
    watched: ClassVar[bool]

    def tick(self) -> tuple[int, float] | None:
        """See LoadTestShape: None ends the test."""
        if not Schedule.generator.is_over:
            return 1, 1.0
        live = read_live(self.directory) if self.watched else None
        return None if live is None or live.over else (1, 1.0)


def _add_options(parser: LocustArgumentParser) -> None:
    add = parser.add_argument
    # Stated by whoever starts Locust: the page must not change what the run directory says was asked for.
    kept: dict[str, Any] = {"include_in_web_ui": False}
    add("--rate", type=float, default=10.0, help="submissions a second", **kept)
    add("--duration", type=float, default=10.0, help="seconds", **kept)
    add("--seed", type=int, default=0, help="decides how long each task works", **kept)
    add("--directory", type=Path, default=Path(), help="where the history of submissions goes", **kept)
    add("--t0-ns", type=int, default=None, help="when the run began, on the monotonic clock; default: now", **kept)
    # Locust's own default is every address of the machine, and its page starts loads for whoever opens it.
    parser.set_defaults(web_host=LOOPBACK)


def _prepare(environment: Environment, **_: object) -> None:
    options = environment.parsed_options
    assert options is not None, "Locust was started from the command line"
    Schedule.generator = generator = _make_generator(environment, options)
    UntilOver.directory = options.directory
    UntilOver.watched = environment.web_ui is not None
    environment.events.test_stop.add_listener(lambda **_: generator.end())  # type: ignore[no-untyped-call]
    if environment.web_ui is not None:
        _add_tab(environment.web_ui, generator, options.directory)


def _make_generator(environment: Environment, options: Namespace) -> Generator:
    def told(answer: HttpAnswer, since_due_s: float) -> None:
        """For Locust's own figures: they, too, count from the instant at which a task was due."""
        failure = None if answer.kind == "ok" else f"{answer.kind}: {answer.detail}"
        environment.events.request.fire(  # type: ignore[no-untyped-call]
            request_type="POST",
            name="/tasks",
            response_time=since_due_s * 1000,
            response_length=0,
            exception=failure,
            context={},
        )

    t0_ns = time.monotonic_ns() if options.t0_ns is None else options.t0_ns
    plan = LoadPlan(options.rate, options.duration, options.seed)
    return Generator(plan, environment.host or "http://127.0.0.1:8000", options.directory, t0_ns, told)


def _add_tab(web_ui: WebUI, generator: Generator, directory: Path) -> None:
    """Locust's page draws what it finds in its arguments under these names, with the rows that come with the figures it polls."""
    app = web_ui.app
    assert app is not None, "Locust makes its application first"
    web_ui.template_args |= {"extended_tabs": [TAB], "extended_tables": [TABLE]}

    @app.after_request
    def add_rows(response: Response) -> Response:
        if request.path == FIGURES_PATH and response.is_json:
            figures = {"key": TAB_KEY, "data": rows(read_live(directory), generator.now_ns())}
            response.set_data(app.json.dumps({**response.get_json(), "extended_stats": [figures]}))
        return response


events.init_command_line_parser.add_listener(_add_options)  # type: ignore[no-untyped-call]
events.init.add_listener(_prepare)  # type: ignore[no-untyped-call]
