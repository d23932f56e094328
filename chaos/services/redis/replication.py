"""A replica that a Redis primary no longer reaches, although both live and the Sentinels reach both."""

from contextlib import closing

from chaos.deadline import Deadline, wait
from chaos.errors import ServiceUnavailable
from chaos.ports import LOOPBACK
from chaos.services.redis.server import client

WRONG_PASSWORD = "of no server"  # noqa: S105  refused by a primary that asks for none
DOWN_WITHIN_S = 5.0


def shut_out(port: int) -> None:
    """Let the replica on this port log in with a password that its primary refuses, and break its connection.

    Raises:
        ServiceUnavailable: it is still connected.
    """
    with closing(client(LOOPBACK, port)) as replica:
        replica.config_set("masterauth", WRONG_PASSWORD)
        replica.execute_command("CLIENT", "KILL", "TYPE", "master")  # type: ignore[no-untyped-call]

        def connected() -> str:
            status = replica.info("replication").get("master_link_status")
            return "" if status == "down" else f"the link of its replica is {status}"

        if problem := wait(connected, Deadline.after(DOWN_WITHIN_S)):
            raise ServiceUnavailable("redis", problem)


def admit(port: int) -> None:
    """Undo `shut_out`."""
    with closing(client(LOOPBACK, port)) as replica:
        replica.config_set("masterauth", "")


def bytes_behind(primary: int, replica: int) -> int:
    """How much of the primary's stream of writes the replica lacks."""
    with closing(client(LOOPBACK, primary)) as first, closing(client(LOOPBACK, replica)) as second:
        written = int(first.info("replication")["master_repl_offset"])
        return written - int(second.info("replication")["slave_repl_offset"])
