"""An ASGI middleware that counts how requests to one route were answered, whoever answered them."""

from prometheus_client import Counter
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class AnswerCount:
    """Counts the answers to POST requests to `route` by their status."""

    def __init__(self, app: ASGIApp, route: str, answers: Counter) -> None:
        self._app = app
        self._route = route
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the ASGI specification."""
        if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] != self._route:
            await self._app(scope, receive, send)
            return

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answers.labels(str(message["status"])).inc()
            await send(message)

        try:
            await self._app(scope, receive, count)
        except Exception:
            self._answers.labels("500").inc()  # answered by what is around all middleware
            raise
