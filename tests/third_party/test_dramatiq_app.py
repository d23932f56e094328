"""An app of Dramatiq is tested as it is, and nothing of the lab reaches the services that it states."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

PLACE = Path(__file__).parent
RUN_TIMEOUT_S = 240


class ProductionBroker:
    """What listens at the address that the app states. `seen`: how many connections came."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.seen = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            self.seen += 1
            connection.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def production() -> Iterator[ProductionBroker]:
    with closing(ProductionBroker()) as broker:
        yield broker


def tasklab(*arguments: str, python: Path, **settings: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command in the directory of the apps."""
    command = [sys.executable, "-m", "tasklab", *arguments, "--python", str(python)]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", **settings}
    done = subprocess.run(
        command, cwd=PLACE, capture_output=True, text=True, timeout=RUN_TIMEOUT_S, env=environment, check=False
    )
    return done.returncode, done.stdout, done.stderr


def facts_of(place: str, python: Path, **settings: str) -> dict[str, Any]:
    code, out, err = tasklab("facts", "--dramatiq", place, "--json", python=python, **settings)
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def test_facts_are_those_of_the_app_and_long_waits_are_scaled(
    third_party_python: Path, production: ProductionBroker
) -> None:
    place = {"SHOP_HOST": "127.0.0.1", "SHOP_PORT": str(production.port)}

    found = facts_of("apps.dramatiq_app:charge", third_party_python, **place)

    facts = {fact["name"]: (fact["value"], fact["scaled"]) for fact in found["facts"]}
    assert facts["queue"] == ("orders", None)
    assert facts["max_retries"] == ("2", None)
    assert facts["min_backoff"] == ("500", None)
    assert facts["max_backoff"] == ("6.048e+08", "1000")
    assert facts["heartbeat"] == ("30 s", "2 s")
    assert (found["needs"], found["policy"]["attempts_max"]) == (["rabbitmq"], 3)
    assert found["policy"]["delays_s"] == [[0.5, 1.0], [0.5, 1.0]]
    assert "hunter2" not in json.dumps(found)
    assert production.seen == 0


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("apps.dramatiq_app:chrage", "apps.dramatiq_app has no 'chrage'; did you mean charge?"),
        ("apps.dramatiq_app:broker", "is no actor of Dramatiq but a RabbitmqBroker; its actors are charge, remind"),
        ("apps.dramatic_app:charge", "there is no module apps.dramatic_app"),
        ("apps.dramatiq_app", "write package.module:attribute"),
    ],
)
def test_what_is_no_actor_is_answered_with_the_nearest(third_party_python: Path, place: str, why: str) -> None:
    code, _, err = tasklab("facts", "--dramatiq", place, python=third_party_python)

    assert code == 2
    assert why in err


def test_an_app_that_connects_while_it_is_imported_is_not_tested(
    third_party_python: Path, production: ProductionBroker
) -> None:
    place = {"SHOP_HOST": "127.0.0.1", "SHOP_PORT": str(production.port)}

    code, _, err = tasklab(
        "facts", "--dramatiq", "apps.connects_dramatiq_app:charge", python=third_party_python, **place
    )

    assert code == 2
    assert f"apps.connects_dramatiq_app connects to 127.0.0.1:{production.port} while it is imported" in err
    assert production.seen == 0


@pytest.mark.services
@pytest.mark.slow
@pytest.mark.parametrize(
    ("broker", "scenario"), [("rabbitmq", "worker_killed_after_effect"), ("redis", "worker_killed_after_effect")]
)
def test_an_unchanged_app_keeps_what_its_library_promises(
    third_party_python: Path, production: ProductionBroker, tmp_path: Path, broker: str, scenario: str
) -> None:
    place = {"SHOP_HOST": "127.0.0.1", "SHOP_PORT": str(production.port), "SHOP_BROKER": broker}
    command = (
        "run",
        scenario,
        "--dramatiq",
        "apps.dramatiq_app:charge",
        "--seed",
        "5",
        "--json",
        "--out",
        str(tmp_path),
    )

    code, out, err = tasklab(*command, python=third_party_python, **place)

    (one,) = json.loads(out or "{}").get("runs", [{"problems": [err]}])
    assert one["problems"] == []
    assert {name: said["reason"] for name, said in one["verdicts"].items() if said["verdict"] != "held"} == {}
    assert (code, production.seen) == (0, 0)
    assert one["refused"]["worker-1"] == [f"127.0.0.1:{production.port}"]
    assert not any("hunter2" in file.read_text(errors="replace") for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.services
@pytest.mark.slow
def test_a_retry_that_waits_while_redis_is_away_stays_in_the_hands_of_its_worker(
    third_party_python: Path, tmp_path: Path
) -> None:
    """Dramatiq 2.2.1 forgets the delayed messages of a lost connection; on Redis nothing gives them back while that worker lives."""
    scenario = "apps.scenarios:broker_killed_among_retries"
    command = (
        "run",
        scenario,
        "--dramatiq",
        "apps.dramatiq_app:charge",
        "--seed",
        "5",
        "--json",
        "--out",
        str(tmp_path),
    )

    code, out, err = tasklab(*command, python=third_party_python, SHOP_BROKER="redis")

    (one,) = json.loads(out or "{}").get("runs", [{"problems": [err]}])
    broken = [name for name, said in one["verdicts"].items() if said["verdict"] == "broken"]
    (places,) = [json.loads(file.read_text()) for file in tmp_path.rglob("open_tasks.json")]
    assert (code, one["problems"], broken) == (1, [], ["no_lost_task"])
    assert "the hash dramatiq:orders.DQ.msgs" in [task["says"] for task in places["tasks"]]
