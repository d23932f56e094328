"""A body over the bound is refused as soon as that is known, however it is sent and whatever it says of itself."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter

from reference_impl.http.body_limit import BodyLimit
from reference_impl.http.response_counter import ResponseCounter

BYTES_MAX = 100
HTTP = {"type": "http", "method": "POST", "path": "/tasks", "headers": [(b"content-length", b"1")]}


class Application:
    """Reads the whole body, answers 200; `seen` is what it read."""

    def __init__(self) -> None:
        self.seen: list[bytes] = []

    async def __call__(self, scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        body = b""
        more = scope["type"] == "http"
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        self.seen.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})


def serve(app: Any, messages: list[dict[str, Any]], scope: dict[str, Any] = HTTP) -> tuple[list[Any], int]:
    """What was sent back, and how many messages were left unread."""
    sent: list[Any] = []

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent, len(messages)


def chunked(*chunks: bytes) -> list[dict[str, Any]]:
    more = [True] * (len(chunks) - 1) + [False]
    return [
        {"type": "http.request", "body": chunk, "more_body": more_body}
        for chunk, more_body in zip(chunks, more, strict=True)
    ]


@given(st.lists(st.integers(0, 60).map(lambda size: b"x" * size), min_size=1, max_size=6))
def test_a_body_is_passed_on_whole_or_refused_whole(chunks: list[bytes]) -> None:
    """R25: in one piece or chunked; the Content-Length says 1 each time."""
    application = Application()

    sent, _ = serve(BodyLimit(application, BYTES_MAX), chunked(*chunks))

    body = b"".join(chunks)
    if len(body) <= BYTES_MAX:
        assert (sent[0]["status"], application.seen) == (200, [body])
    else:
        assert (sent[0]["status"], application.seen) == (413, [])
        assert json.loads(sent[1]["body"]) == {"error": "the body has more than 100 bytes", "definite": True}


def test_no_more_is_read_than_it_takes_to_know() -> None:
    """R25: an endless body must not fill the memory."""
    sent, unread = serve(BodyLimit(Application(), BYTES_MAX), chunked(*[b"x" * 60] * 1000))

    assert sent[0]["status"] == 413
    assert unread == 998
    assert (b"connection", b"close") in sent[0]["headers"], "what follows on this connection is no request"


def test_a_client_that_goes_away_half_way_is_not_answered() -> None:
    application = Application()

    sent, _ = serve(
        BodyLimit(application, BYTES_MAX),
        [{"type": "http.request", "body": b"x", "more_body": True}, {"type": "http.disconnect"}],
    )

    assert (sent, application.seen) == ([], [])


def test_a_client_that_goes_away_after_its_body_is_seen_to_go() -> None:
    seen: list[str] = []

    async def application(scope: Any, receive: Callable[[], Any], send: Any) -> None:
        seen.extend([(await receive())["type"], (await receive())["type"]])

    serve(BodyLimit(application, BYTES_MAX), [*chunked(b"x"), {"type": "http.disconnect"}])

    assert seen == ["http.request", "http.disconnect"]


def test_what_is_no_http_is_left_alone() -> None:
    application = Application()

    serve(BodyLimit(application, BYTES_MAX), [], {"type": "lifespan"})

    assert application.seen == [b""]


def test_answers_are_counted_by_status_for_one_route_only() -> None:
    """R19: also those that a middleware gives, and those that end in an error."""
    answers = Counter("answers", "x", ["status"], registry=CollectorRegistry())

    def counted(app: Any) -> ResponseCounter:
        return ResponseCounter(app, "/tasks", answers)

    async def broken(*_: Any) -> None:
        raise ZeroDivisionError

    serve(counted(Application()), chunked(b"x"))
    serve(counted(BodyLimit(Application(), BYTES_MAX)), chunked(b"x" * 101))
    serve(counted(Application()), chunked(b"x"), {**HTTP, "path": "/tasks/1"})
    serve(counted(Application()), chunked(b"x"), {**HTTP, "method": "GET"})
    serve(counted(Application()), [], {"type": "lifespan"})
    with suppress(ZeroDivisionError):
        serve(counted(broken), [])

    counts = {
        sample.labels["status"]: sample.value
        for sample in next(iter(answers.collect())).samples
        if sample.name == "answers_total"
    }
    assert counts == {"200": 1.0, "413": 1.0, "500": 1.0}
