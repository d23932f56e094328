"""A client of an app whose broker accepts no connection says so for certain, and tries it again."""

import socket
import sys

import pytest

from scenarios.adapters.adapted import SHIMS


def test_only_after_a_failure_is_it_asked_whether_the_broker_accepts_a_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(SHIMS))
    monkeypatch.setattr(sys, "addaudithook", lambda _: None)  # the guard is for processes of apps
    import tasklab_adapter

    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        broker = tasklab_adapter.ClientBroker({"host": host, "port": port})
        broker.has_failed = True
        assert not broker.refuses()
        assert not broker.has_failed
    assert not broker.refuses()

    broker.has_failed = True

    assert broker.refuses()
    assert broker.has_failed
