"""The processes of the system, each a role: which loops it runs, and how it comes to a graceful end (R30)."""

from collections.abc import Callable
from dataclasses import replace

import structlog

from reference_impl import outbox
from reference_impl.adapters.system import Loops, StopEvent, stop_on_signals
from reference_impl.bootstrap import Parts, assemble, build_relay, build_rescuer, build_worker
from reference_impl.lease import HeldClaims, run_heartbeat
from reference_impl.settings import Settings
from reference_impl.transactions import transact

ROLES = ("api", "relay", "worker", "rescuer", "embedded", "migrate")

Loop = tuple[str, Callable[[], None]]


def run_role(role: str, settings: Settings) -> int:
    """Run one process until SIGTERM or SIGINT; its exit code. A second signal, like a kill, is just a crash."""
    parts = assemble(settings, role=role)
    if role == "migrate":
        _migrate(parts)
        return 0
    stop_on_signals(parts.stop)
    log = structlog.get_logger().bind(role=role, name=parts.runtime.name)
    if role == "embedded":
        _migrate(parts)
        transact(parts.engine, outbox.revive_waiting)  # a queue in memory is empty after a restart
    log.info("started")
    try:
        _run(role, parts)
    finally:
        parts.broker.close()
        parts.engine.dispose()
    log.info("ended")
    return 0


def _run(role: str, parts: Parts) -> None:
    held = HeldClaims()
    slots_ended = StopEvent()
    working: list[Loop] = []
    serving: list[Loop] = []
    if role in {"worker", "embedded"}:
        worker = build_worker(parts, held)
        working += [(f"slot {number}", worker.run_slot) for number in range(1, parts.settings.worker_slots + 1)]
        serving.append(("heartbeat", lambda: _beat(parts, held, slots_ended)))
    if role in {"relay", "embedded"}:
        working.append(("relay", build_relay(parts).run))
    if role in {"rescuer", "embedded"}:
        working.append(("rescuer", build_rescuer(parts).run))
    if role in {"api", "embedded"}:
        working.append(("api", lambda: _serve_api(parts)))
    workers, heart = Loops(parts.stop), Loops(parts.stop)
    heart.start(serving)
    workers.start(working)
    parts.stop.await_request()
    try:
        workers.join(parts.settings.drain_s)
    finally:
        slots_ended.request()
    heart.join(parts.settings.heartbeat_s)


def _beat(parts: Parts, held: HeldClaims, slots_ended: StopEvent) -> None:
    runtime = replace(parts.runtime, stop=slots_ended)
    run_heartbeat(runtime, parts.engine, held, every_s=parts.settings.heartbeat_s, lease_s=parts.settings.lease_s)


def _serve_api(parts: Parts) -> None:
    import uvicorn

    from reference_impl.api import create_app
    from reference_impl.endpoints import Api

    app = create_app(Api(parts.runtime, parts.engine, parts.broker, parts.cache, parts.metrics, parts.settings))
    config = uvicorn.Config(
        app, host=parts.settings.http_host, port=parts.settings.http_port, log_level="warning", access_log=False
    )
    server = uvicorn.Server(config)
    # uvicorn installs no signal handlers outside the main thread; it looks at this flag several times a second.
    serving = Loops(parts.stop)
    serving.start([("uvicorn", server.run)])
    parts.stop.await_request()
    server.should_exit = True
    serving.join(parts.settings.drain_s)


def _migrate(parts: Parts) -> None:
    from reference_impl.migrations import migrate

    migrate(parts.engine)
