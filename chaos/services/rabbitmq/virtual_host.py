"""The virtual host of a run: created, and proven to hold no queue; those of earlier runs are removed with their contents."""

from chaos.errors import ServiceUnavailable

DEFAULT = "/"
PREFIX = "queues in it: "
"""Prefix of the answer's line; other lines may come before it."""


QUEUE = "queue: "
"""How a line that names a queue begins."""
LISTED = "all queues are listed"
"""The line after the last queue."""


def fresh(call: str, name: str, user: str) -> str:
    """An Erlang expression that creates the virtual host and prints its queues; `call`: an expression that calls a broker function."""
    return (
        f'C = {call}, V = <<"{name}">>, U = <<"{user}">>, '
        f'[C(rabbit_vhost, delete, [W, U]) || W <- C(rabbit_vhost, list_names, []), W =/= <<"{DEFAULT}">>], '
        "ok = C(rabbit_vhost, add, [V, U]), "
        'A = <<".*">>, ok = C(rabbit_auth_backend_internal, set_permissions, [U, V, A, A, A, U]), '
        f'io:format("~n{PREFIX}~p~n", [[Q || {{resource, _, queue, Q}} <- C(rabbit_amqqueue, list_names, [V])]])'
    )


def queues(call: str, name: str) -> str:
    """An Erlang expression that prints the queues of the virtual host, a line each, and `LISTED` after them."""
    return (
        f'C = {call}, V = <<"{name}">>, '
        f'[io:format("~n{QUEUE}~s~n", [Q]) || {{resource, _, queue, Q}} <- C(rabbit_amqqueue, list_names, [V])], '
        f'io:format("~n{LISTED}~n")'
    )


def queue_names(answer: str) -> list[str]:
    """The queues that the broker has printed.

    Raises:
        ServiceUnavailable: it has not printed all of them.
    """
    if LISTED not in answer.splitlines():
        raise ServiceUnavailable(
            "rabbitmq", f"its queues cannot be listed: the broker answered {answer.strip()[-300:]!r}"
        )
    return sorted(line.removeprefix(QUEUE) for line in answer.splitlines() if line.startswith(QUEUE))


def check_fresh(name: str, answer: str) -> None:
    """Raise ServiceUnavailable unless the broker answered that the new virtual host exists and holds no queue."""
    found = [line.removeprefix(PREFIX) for line in answer.splitlines() if line.startswith(PREFIX)]
    if found == ["[]"]:
        return
    why = f"it holds the queues {found[0]}" if found else f"the broker answered {answer.strip()[-300:]!r}"
    raise ServiceUnavailable("rabbitmq", f"the virtual host {name} of this run is not clean: {why}")
