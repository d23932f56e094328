"""An ASGI middleware that identifies the caller of each request: 401 without a valid token, before the body is read."""

from starlette.types import ASGIApp, Receive, Scope, Send

from reference_impl.http.refusal import refuse
from reference_impl.http.users import UNAUTHENTICATED, Users

OPEN_PATHS = frozenset({"/health/live", "/health/ready", "/metrics", "/openapi.json"})
"""Paths for load balancers, monitoring and documentation: they show no task."""


class Authentication:
    """Puts the `Caller` into the state of each request; `users` None: authentication is off, every client may do everything."""

    def __init__(self, app: ASGIApp, users: Users | None) -> None:
        self._app = app
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its caller, or answer 401."""
        if scope["type"] != "http" or (self._users is not None and scope["path"] in OPEN_PATHS):
            await self._app(scope, receive, send)
            return
        caller = UNAUTHENTICATED
        if self._users is not None:
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            found = self._users.find(given[0].decode("latin-1")) if len(given) == 1 else None
            if found is None:
                await refuse(send, 401, "no valid bearer token", (b"www-authenticate", b"Bearer"))
                return
            caller = found
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)
