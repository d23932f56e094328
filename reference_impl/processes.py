"""Runs one process of the system: the loops of its role, and a graceful shutdown (R30)."""

import structlog

from reference_impl.adapters.system import Loops, ShutdownEvent, shut_down_on_signals
from reference_impl.bootstrap import assemble
from reference_impl.components import Components, Patch, build_api, unpatched
from reference_impl.roles import loops_of
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from reference_impl.settings import Settings

ROLES = ("api", "relay", "worker", "rescuer", "embedded", "migrate")


def run_role(role: str, settings: Settings, *, patch: Patch = unpatched) -> int:
    """Run one process until SIGTERM or SIGINT; return its exit code. A second signal kills it at once.

    `patch` makes a variant of the system.
    """
    shutdown = ShutdownEvent()
    components = patch(assemble(settings, shutdown, role=role))
    if role == "migrate":
        _migrate(components)
        return 0
    shut_down_on_signals(shutdown)
    log = structlog.get_logger().bind(role=role, name=components.runtime.name)
    if role == "embedded":
        _migrate(components)
        transact(components.engine, outbox.revive_waiting)  # an in-memory queue is empty after a restart
    log.info("started")
    try:
        finished = _run(role, components, shutdown)
    finally:
        components.broker.close()
        components.engine.dispose()
    log.info("ended" if finished else "ended; unfinished attempts were given back")
    return 0


def _run(role: str, components: Components, shutdown: ShutdownEvent) -> bool:
    """Run all loops until shutdown is requested. Whether every running attempt finished in time."""
    slots_ended = ShutdownEvent()
    working, supporting = loops_of(role, components, slots_ended)
    if role in {"api", "embedded"}:
        working.append(("api", lambda: _serve_api(components, shutdown)))
    workers, supporters = Loops(shutdown), Loops(shutdown)
    supporters.start(supporting)
    workers.start(working)
    shutdown.await_request()
    try:
        finished = workers.join(components.settings.drain_s)
    finally:
        slots_ended.request()
    supporters.join(components.settings.heartbeat_s)
    return finished


def _serve_api(components: Components, shutdown: ShutdownEvent) -> None:
    import uvicorn

    from reference_impl.http.routes import create_app

    app = create_app(build_api(components))
    config = uvicorn.Config(
        app,
        host=components.settings.http_host,
        port=components.settings.http_port,
        http="h11",  # 10 % slower than httptools, which accepts header lines of unlimited length
        log_level="warning",
        access_log=False,
    )
    server = uvicorn.Server(config)
    # uvicorn installs no signal handlers outside the main thread; it checks this flag several times a second.
    serving = Loops(shutdown)
    serving.start([("uvicorn", server.run)])
    shutdown.await_request()
    server.should_exit = True
    serving.join(components.settings.drain_s)


def _migrate(components: Components) -> None:
    from reference_impl.migrations import migrate

    migrate(components.engine)
