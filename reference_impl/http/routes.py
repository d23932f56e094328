"""The routes of the API: submit, read, cancel, dead letters, operations. Every error states whether the request may have had an effect."""

from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, HTTPException, Path, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.security import HTTPBearer
from sqlalchemy import text
from starlette.exceptions import HTTPException as StarletteHTTPException

from reference_impl.errors import (
    BrokerError,
    CacheUnavailable,
    DatabaseError,
    RateLimited,
    ReferenceSystemError,
)
from reference_impl.http.authentication import Authentication
from reference_impl.http.body_limit import BodyLimit
from reference_impl.http.models import NAME, DeadLetterView, Discard, NewTask, Refusal, TaskView, letter_view, view
from reference_impl.http.response_counter import ResponseCounter
from reference_impl.http.service import STATUS_OF, Api, status_of
from reference_impl.http.users import Caller, Users
from reference_impl.metrics import DATABASE_DOWN, database_gauges
from reference_impl.rows import dead_letter
from reference_impl.rows.cancellation import Cancelled
from reference_impl.rows.transactions import read
from reference_impl.rows.transitions import audit_trail

ENVELOPE_BYTES = 4096
"""Maximum size of a submission without its payload."""
LETTERS_MAX = 1000
ERROR_CHARACTERS_MAX = 500

_REFUSALS = {
    400: "The body is not a JSON document.",
    401: "No valid bearer token.",
    403: "The token belongs to another user than the task.",
    404: "There is no task, or no open dead letter, with this id.",
    408: "The body was not complete in time.",
    409: "The request conflicts with an earlier one, or the task has already ended.",
    413: "The body or the payload is too large.",
    422: "The request is invalid; the message names the field.",
    429: "Too many new tasks; retry after Retry-After seconds.",
    503: "A service of the system is down; `definite` states whether the request may have had an effect.",
}


def _caller(request: Request, _: Annotated[object, Security(HTTPBearer(auto_error=False))]) -> Caller:
    """The caller that the middleware has identified; the parameter puts the scheme into the API's description."""
    caller: Caller = request.state.caller
    return caller


CallerOf = Annotated[Caller, Depends(_caller)]
TaskId = Annotated[str, Path(min_length=1, max_length=64)]
LetterId = Annotated[int, Path(ge=1, le=2**63 - 1)]


def _refusals(*codes: int) -> dict[int | str, dict[str, Any]]:
    return {code: {"model": Refusal, "description": _REFUSALS[code]} for code in codes}


def create_app(api: Api, users: Users | None) -> FastAPI:
    """The ASGI application over this API; `users` None: authentication is off."""
    app = FastAPI(title="Reference task system", version="1", docs_url=None, redoc_url=None)
    app.add_middleware(
        BodyLimit,
        body_bytes_max=api.settings.payload_bytes_max + ENVELOPE_BYTES,
        timeout_s=api.settings.body_timeout_s,
    )
    app.add_middleware(Authentication, users=users)
    app.add_middleware(ResponseCounter, route="/tasks", responses=api.metrics.submission_responses)
    _add_refusals(app, api)
    _add_task_routes(app, api)
    _add_dead_letter_routes(app, api)
    _add_operator_routes(app, api)
    return app


def _add_refusals(app: FastAPI, api: Api) -> None:
    """Give all errors the form of `Refusal`."""

    def refuse(code: int, reason: str, *, definite: bool, headers: dict[str, str] | None = None) -> JSONResponse:
        # The message may quote the client's input: bound its length, and replace unpaired surrogates, which UTF-8 cannot encode.
        text = reason[:ERROR_CHARACTERS_MAX].encode(errors="replace").decode()
        return JSONResponse({"error": text, "definite": definite}, code, headers)

    def refuse_own(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ReferenceSystemError)
        headers = {"Retry-After": str(error.retry_after_s)} if isinstance(error, RateLimited) else None
        return refuse(status_of(error), str(error), definite=error.definite, headers=headers)

    def refuse_http(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, StarletteHTTPException)
        return refuse(error.status_code, str(error.detail), definite=True, headers=dict(error.headers or {}))

    def refuse_invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        places = ["/".join(map(str, problem["loc"])) + ": " + problem["msg"] for problem in error.errors()]
        return refuse(422, "; ".join(places[:5]), definite=True)

    def refuse_unexpected(_: Request, error: Exception) -> JSONResponse:
        return refuse(500, f"internal error: {type(error).__name__}", definite=False)

    for kind in STATUS_OF:
        app.add_exception_handler(kind, refuse_own)
    app.add_exception_handler(StarletteHTTPException, refuse_http)
    app.add_exception_handler(RequestValidationError, refuse_invalid)
    app.add_exception_handler(Exception, refuse_unexpected)


def _add_task_routes(app: FastAPI, api: Api) -> None:
    @app.post(
        "/tasks",
        status_code=202,
        responses={200: {"model": TaskView}, **_refusals(400, 401, 403, 408, 409, 413, 422, 429, 503)},
    )
    def submit_task(
        task: NewTask,
        response: Response,
        caller: CallerOf,
        idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255, pattern=r"^[!-~]+$")] = None,
        x_trace_id: Annotated[str | None, Header(min_length=1, max_length=64, pattern=NAME)] = None,
    ) -> TaskView:
        """202: accepted and durable. 200: this user has submitted the same task before; no task was created."""
        if not caller.may_touch(task.user_id):
            raise HTTPException(403, "user_id is not the user of this token")
        submitted = api.submit(task, key=idempotency_key, trace_id=x_trace_id)
        response.status_code = 202 if submitted.created else 200
        response.headers["Location"] = f"/tasks/{submitted.task.id}"
        return view(submitted.task)

    @app.get("/tasks/{task_id}", responses=_refusals(401, 404, 408, 422, 503))
    def read_task(task_id: TaskId, caller: CallerOf) -> TaskView:
        """The task, with its state from the database and, until it ends, its progress from Redis."""
        found = api.read(task_id) if api.is_visible(task_id, caller) else None
        if found is None:
            raise HTTPException(404, "no such task")
        return found

    @app.get("/tasks/{task_id}/transitions", responses=_refusals(401, 404, 408, 422, 503))
    def read_transitions(task_id: TaskId, caller: CallerOf) -> list[dict[str, Any]]:
        """All state transitions of the task, from the audit trail."""
        trail = read(api.engine, lambda connection: audit_trail(connection, task_id))
        if not trail or not api.is_visible(task_id, caller):
            raise HTTPException(404, "no such task")
        return trail

    @app.post(
        "/tasks/{task_id}/cancel", responses={202: {"model": TaskView}, **_refusals(401, 404, 408, 409, 422, 503)}
    )
    def cancel_task(task_id: TaskId, response: Response, caller: CallerOf) -> TaskView:
        """200: cancelled. 202: an attempt was asked to stop, or may still run after its lease expired. 409: the task had already ended."""
        if not api.is_visible(task_id, caller):
            raise HTTPException(404, "no such task")
        answer, task = api.cancel(task_id)
        if answer is Cancelled.NOT_FOUND or task is None:
            raise HTTPException(404, "no such task")
        if answer is Cancelled.TOO_LATE:
            raise HTTPException(409, f"the task has ended: {task.status}")
        response.status_code = 200 if answer is Cancelled.DONE else 202
        return view(task)


def _add_dead_letter_routes(app: FastAPI, api: Api) -> None:
    @app.get("/dead-letters", responses=_refusals(401, 408, 422, 503))
    def list_dead_letters(
        caller: CallerOf, limit: Annotated[int, Query(ge=1, le=LETTERS_MAX)] = 100
    ) -> list[DeadLetterView]:
        """The unhandled dead letters of the caller's tasks (for an operator: of all tasks), oldest first."""
        user = None if caller.is_operator else caller.user
        letters = read(api.engine, lambda connection: dead_letter.open_letters(connection, rows_max=limit, user=user))
        return [letter_view(letter) for letter in letters]

    @app.post("/dead-letters/{letter_id}/redrive", status_code=204, responses=_refusals(401, 404, 408, 422, 503))
    def redrive(letter_id: LetterId, caller: CallerOf) -> None:
        """Put the task back to work with a new budget of attempts."""
        if not api.is_visible_letter(letter_id, caller) or not api.redrive(letter_id):
            raise HTTPException(404, "no such open dead letter")

    @app.post("/dead-letters/{letter_id}/discard", status_code=204, responses=_refusals(400, 401, 404, 408, 422, 503))
    def discard(letter_id: LetterId, discarded: Discard, caller: CallerOf) -> None:
        """Close the dead letter; the task stays DEAD."""
        if not api.is_visible_letter(letter_id, caller) or not api.discard(letter_id, why=discarded.why):
            raise HTTPException(404, "no such open dead letter")


def _add_operator_routes(app: FastAPI, api: Api) -> None:
    @app.get("/health/live")
    def live() -> dict[str, str]:
        """The process answers."""
        return {"status": "live"}

    @app.get("/health/ready", responses={503: {"description": "The database does not answer; the body names it."}})
    def ready() -> JSONResponse:
        """The state of database, cache and broker. Only the database makes the API unready."""
        services: dict[str, str] = {}
        try:
            read(api.engine, lambda connection: connection.execute(text("SELECT 1")))
            services["database"] = "ok"
        except DatabaseError as error:
            services["database"] = str(error)
        try:
            api.cache.ping()
            services["cache"] = "ok"
        except CacheUnavailable as error:
            services["cache"] = str(error)
        try:
            services["broker"] = f"ok, {api.broker.depth(api.settings.work_queue)} waiting"
        except BrokerError as error:
            services["broker"] = str(error)
        # A submission needs only the database: the relay publishes later.
        return JSONResponse(services, 200 if services["database"] == "ok" else 503)

    @app.get("/metrics", response_class=PlainTextResponse)
    def metrics() -> Response:
        """For Prometheus: the counters of this process and, while the database answers, its gauges."""
        counters, media_type = api.metrics.exposition()
        try:
            gauges = read(api.engine, database_gauges)
        except DatabaseError:
            gauges = DATABASE_DOWN
        return Response(counters + gauges.encode(), media_type=media_type)
