"""The Locust file: `tasklab load` starts Locust with it; `locust -f` with --host, --rate and --duration also works.

Locust's users wait for their answers, so their number would determine the rate. Here one single user keeps a schedule.
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
from loadtests.exchange_files import read_live
from loadtests.generator import Generator
from loadtests.reliability import TAB, TAB_KEY, TABLE, rows
from scenarios.contract.http_answers import TOKEN_FILE, HttpAnswer

FIGURES_PATH = "/stats/requests"
LOOPBACK = "127.0.0.1"


class Submitter(User):
    """The only user: it submits the whole plan, each task at its due time."""

    fixed_count = 1
    generator: ClassVar[Generator]

    @task
    def submit_all(self) -> None:
        """Run the generator; return when every submission is answered or given up."""
        self.generator.submit_all()
        raise StopUser


class UntilOver(LoadTestShape):
    """One user until the load is over; with a web page until the lab's figures are final, because the page polls only while a test runs."""

    abstract = False
    directory: ClassVar[Path]
    watched: ClassVar[bool]

    def tick(self) -> tuple[int, float] | None:
        """Number of users and their spawn rate; None ends the test."""
        if not Submitter.generator.is_over:
            return 1, 1.0
        live = read_live(self.directory) if self.watched else None
        return None if live is None or live.over else (1, 1.0)


def _add_options(parser: LocustArgumentParser) -> None:
    add = parser.add_argument
    # Only on the command line: the start form of the page must not contradict the run directory.
    kept: dict[str, Any] = {"include_in_web_ui": False}
    add("--rate", type=float, default=10.0, help="submissions per second", **kept)
    add("--duration", type=float, default=10.0, help="duration of the load in seconds", **kept)
    add("--seed", type=int, default=0, help="seed of the working times of the tasks", **kept)
    add("--directory", type=Path, default=Path(), help="directory for the history of submissions", **kept)
    add("--t0-ns", type=int, default=None, help="begin of the run on the monotonic clock; default: now", **kept)
    # Locust's default is every address of the machine, and its page lets every visitor start a load.
    parser.set_defaults(web_host=LOOPBACK)


def _prepare(environment: Environment, **_: object) -> None:
    options = environment.parsed_options
    assert options is not None, "Locust was started from the command line"
    Submitter.generator = generator = _make_generator(environment, options)
    UntilOver.directory = options.directory
    UntilOver.watched = environment.web_ui is not None
    environment.events.test_stop.add_listener(lambda **_: generator.end())  # type: ignore[no-untyped-call]
    if environment.web_ui is not None:
        _add_tab(environment.web_ui, generator, options.directory)


def _make_generator(environment: Environment, options: Namespace) -> Generator:
    def on_answer(answer: HttpAnswer, since_due_s: float) -> None:
        """Report to Locust's own figures, which also count from the due time of a task."""
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
    url = environment.host or "http://127.0.0.1:8000"
    token_file = Path(TOKEN_FILE)  # the lab starts this program in the directory of the services
    token = token_file.read_text(encoding="ascii").strip() if token_file.is_file() else ""
    return Generator(plan, url, options.directory, t0_ns, on_answer, token=token)


def _add_tab(web_ui: WebUI, generator: Generator, directory: Path) -> None:
    """Add the tab to the template arguments of Locust's page, and its rows to the figures that the page polls."""
    app = web_ui.app
    assert app is not None, "Locust creates its application first"
    web_ui.template_args |= {"extended_tabs": [TAB], "extended_tables": [TABLE]}

    @app.after_request
    def add_rows(response: Response) -> Response:
        if request.path == FIGURES_PATH and response.is_json:
            figures = {"key": TAB_KEY, "data": rows(read_live(directory), generator.now_ns())}
            response.set_data(app.json.dumps({**response.get_json(), "extended_stats": [figures]}))
        return response


events.init_command_line_parser.add_listener(_add_options)  # type: ignore[no-untyped-call]
events.init.add_listener(_prepare)  # type: ignore[no-untyped-call]
