"""An ASGI middleware that counts the responses of one route by status, including those of other middleware and of error handlers."""

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class ResponseCounter:
    """Counts the responses to POST requests to `route` by status."""

    def __init__(self, app: ASGIApp, route: str, responses: Counter) -> None:
        self._app = app
        self._route = route
        self._responses = responses

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and count its response."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._route:
            await self._app(scope, receive, send)
            return

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._responses.labels(str(message["status"])).inc()
            await send(message)

        try:
            await self._app(scope, receive, count)
        except Exception:
            self._responses.labels("500").inc()  # the outermost error handler answers 500
            raise
