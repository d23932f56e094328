"""The response of a middleware that refuses a request before the application gets it."""

import json

from starlette.types import Send

Header = tuple[bytes, bytes]


async def refuse(send: Send, status: int, why: str, *headers: Header) -> None:
    """Send the status with a body in the form of `models.Refusal`, and close the connection. The request had no effect."""
    content = json.dumps({"error": why, "definite": True}).encode()
    common = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send(
        {"type": "http.response.start", "status": status, "headers": [*common, *headers, (b"connection", b"close")]}
    )
    await send({"type": "http.response.body", "body": content})
