"""An ASGI middleware that limits the size of request bodies, independently of Content-Length, and the time that they take."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reference_impl.http.refusal import refuse


class BodyLimit:
    """Answers 413 as soon as a body exceeds `body_bytes_max`, and 408 if it is not complete after `timeout_s`.

    The application never sees such a request.
    """

    def __init__(self, app: ASGIApp, body_bytes_max: int, timeout_s: float = 10.0) -> None:
        self._app = app
        self._timeout_s = timeout_s
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole body, then pass the request on with the body as one message."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._timeout_s):
                body = await self._whole(receive)
        except TimeoutError:
            await refuse(send, 408, f"the body was not complete after {self._timeout_s:g} s")
            return
        if body is None:
            return
        if len(body) > self._body_bytes_max:
            await refuse(send, 413, f"the body has more than {self._body_bytes_max} bytes")
            return
        await self._app(scope, _replay(body, receive), send)

    async def _whole(self, receive: Receive) -> bytes | None:
        """The body, or its beginning if it is too large; None: the client has disconnected."""
        body = bytearray()
        more = True
        while more and len(body) <= self._body_bytes_max:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the whole body as one message, then the client's further messages."""
    replayed = False

    async def replay() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
