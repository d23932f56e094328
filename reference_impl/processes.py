"""The processes of the system, each a role: which loops it runs, and how it comes to a graceful end (R30)."""

from collections.abc import Callable

import structlog

from reference_impl.adapters.system import Loops, StopEvent, stop_on_signals
from reference_impl.bootstrap import Parts, assemble, build_api
from reference_impl.loops.roles import loops_of
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from reference_impl.settings import Settings

ROLES = ("api", "relay", "worker", "rescuer", "embedded", "migrate")


def run_role(role: str, settings: Settings, *, alter: Callable[[Parts], Parts] = lambda parts: parts) -> int:
    """Run one process until SIGTERM or SIGINT; its exit code. A second signal, like a kill, is just a crash.

    `alter` makes a variant of the system out of its parts.
    """
    stop = StopEvent()
    parts = alter(assemble(settings, stop, role=role))
    if role == "migrate":
        _migrate(parts)
        return 0
    stop_on_signals(stop)
    log = structlog.get_logger().bind(role=role, name=parts.runtime.name)
    if role == "embedded":
        _migrate(parts)
        transact(parts.engine, outbox.revive_waiting)  # a queue in memory is empty after a restart
    log.info("started")
    try:
        finished = _run(role, parts, stop)
    finally:
        parts.broker.close()
        parts.engine.dispose()
    log.info("ended" if finished else "ended; what was not finished in time was given back")
    return 0


def _run(role: str, parts: Parts, stop: StopEvent) -> bool:
    """Whether everything that was under way when the process was asked to end has been finished."""
    slots_ended = StopEvent()
    working, serving = loops_of(role, parts, slots_ended)
    if role in {"api", "embedded"}:
        working.append(("api", lambda: _serve_api(parts, stop)))
    workers, heart = Loops(stop), Loops(stop)
    heart.start(serving)
    workers.start(working)
    stop.await_request()
    try:
        finished = workers.join(parts.settings.drain_s)
    finally:
        slots_ended.request()
    heart.join(parts.settings.heartbeat_s)
    return finished


def _serve_api(parts: Parts, stop: StopEvent) -> None:
    import uvicorn

    from reference_impl.http.routes import create_app

    app = create_app(build_api(parts))
    config = uvicorn.Config(
        app,
        host=parts.settings.http_host,
        port=parts.settings.http_port,
        http="h11",  # a tenth slower than httptools, which takes a header without end
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)
    # uvicorn installs no signal handlers outside the main thread; it looks at this flag several times a second.
    serving = Loops(stop)
    serving.start([("uvicorn", server.run)])
    stop.await_request()
    server.should_exit = True
    serving.join(parts.settings.drain_s)


def _migrate(parts: Parts) -> None:
    from reference_impl.migrations import migrate

    migrate(parts.engine)
