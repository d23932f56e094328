"""An ASGI middleware that limits the size of request bodies, independently of Content-Length."""

import json

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class BodyLimit:
    """Answers 413 as soon as a body exceeds `body_bytes_max`; the application never sees such a request."""

    def __init__(self, app: ASGIApp, body_bytes_max: int) -> None:
        self._app = app
        self._body_bytes_max = body_bytes_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the whole body, then pass the request on with the body as one message."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            if len(body) > self._body_bytes_max:
                await _refuse(send, self._body_bytes_max)
                return
            more = message.get("more_body", False)
        await self._app(scope, _replay(bytes(body), receive), send)


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


async def _refuse(send: Send, body_bytes_max: int) -> None:
    refusal = {"error": f"the body has more than {body_bytes_max} bytes", "definite": True}
    content = json.dumps(refusal).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 413, "headers": [*headers, (b"connection", b"close")]})
    await send({"type": "http.response.body", "body": content})
