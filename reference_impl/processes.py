"""Runs one process of the system: the loops of its role, and a graceful shutdown (R30)."""

from typing import TYPE_CHECKING

import structlog

from reference_impl.adapters.system import Loops, ShutdownEvent, shut_down_on_signals
from reference_impl.bootstrap import assemble
from reference_impl.components import Components, Patch, build_api, unpatched
from reference_impl.roles import loops_of
from reference_impl.rows import outbox
from reference_impl.rows.transactions import transact
from reference_impl.settings import Settings

if TYPE_CHECKING:
    from reference_impl.http.users import Users

API_ROLES = frozenset({"api", "embedded"})
ROLES = ("api", "relay", "worker", "rescuer", "embedded", "migrate")


def run_role(role: str, settings: Settings, *, patch: Patch = unpatched) -> int:
    """Run one process until SIGTERM or SIGINT; return its exit code. A second signal kills it at once.

    `patch` makes a variant of the system.

    Raises:
        SettingsInvalid: the API has no users, and authentication is not off.
    """
    users = _users_of(role, settings)
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
        finished = _run(role, components, users, shutdown)
    finally:
        components.broker.close()
        components.engine.dispose()
    log.info("ended" if finished else "ended; unfinished attempts were interrupted")
    return 0


def _users_of(role: str, settings: Settings) -> "Users | None":
    """The users of the API, read before anything starts, so that a missing file ends the process at once."""
    if role not in API_ROLES:
        return None
    from reference_impl.http.users import users_of

    return users_of(settings)


def _run(role: str, components: Components, users: "Users | None", shutdown: ShutdownEvent) -> bool:
    """Run all loops until shutdown is requested. Whether every running attempt finished in time."""
    slots_ended = ShutdownEvent()
    working, supporting = loops_of(role, components, slots_ended)
    if role in API_ROLES:
        working.append(("api", lambda: _serve_api(components, users, shutdown)))
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


def _serve_api(components: Components, users: "Users | None", shutdown: ShutdownEvent) -> None:
    import uvicorn

    from reference_impl.http.routes import create_app

    app = create_app(build_api(components), users)
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
