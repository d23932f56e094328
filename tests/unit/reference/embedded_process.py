"""The embedded reference as a real process: SQLite file, one port, killed and started again as a test likes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

from chaos.ports import LOOPBACK, PortAllocator
from reference_impl.settings import Settings, environment_of

ROOT = Path(__file__).parents[3]
LOOK_S = 0.02
LOOKS_MAX = 3000
EXIT_S = 60.0


class EmbeddedProcess:
    """One at a time; `settings` are those beside its addresses."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.log = directory / "attempts.log"
        self._ports = PortAllocator()
        self._settings = Settings(
            name="embedded",
            database_url=f"sqlite:///{directory / 'reference.db'}",
            http_port=self._ports.allocate(),
            handlers="tests.unit.reference.handlers:handle",
            **{"authentication": "off", **settings},
        )
        self.http = httpx.Client(base_url=f"http://{LOOPBACK}:{self._settings.http_port}", timeout=30.0)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> tuple[str, int]:
        return LOOPBACK, self._settings.http_port

    def start(self) -> None:
        """Until it answers."""
        with (self.directory / "output.log").open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "reference_impl", "embedded"],
                cwd=ROOT,
                env={**os.environ, **environment_of(self._settings)},
                stdout=output,
                stderr=output,
            )
        self.wait_until(self.is_live)

    def is_live(self) -> bool:
        try:
            return self.http.get("/health/live").status_code == 200
        except httpx.TransportError:
            return False

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """Until it has ended; its exit code."""
        assert self._process is not None
        return self._process.wait(EXIT_S)

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    def close(self) -> None:
        """End it, if it runs, and give back what the test held."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        self.http.close()
        self._ports.close()

    def submit(self, key: str, *, gate: Path | None = None, **fields: Any) -> str:
        """A task of that key; its id."""
        payload = {"log": str(self.log), **({} if gate is None else {"gate": str(gate)})}
        answer = self.http.post(
            "/tasks",
            json={"user_id": "u", "type": "probe", "payload": payload, **fields},
            headers={"Idempotency-Key": key},
        )
        assert answer.status_code in {200, 202}, answer.text
        return str(answer.json()["id"])

    def task(self, task_id: str) -> dict[str, Any]:
        return dict(self.http.get(f"/tasks/{task_id}").json())

    def states(self, task_id: str) -> list[str]:
        return [row["to_status"] for row in self.http.get(f"/tasks/{task_id}/transitions").json()]

    def lines(self) -> list[str]:
        """What attempts have left."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def output(self) -> str:
        return (self.directory / "output.log").read_text()

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Fails with what the process said if it never holds."""
        pause = threading.Event()
        for _ in range(LOOKS_MAX):
            if holds():
                return
            pause.wait(LOOK_S)
        raise AssertionError(self.output())
