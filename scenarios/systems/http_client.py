"""A client of a task system with an HTTP API of the reference's form. Never repeats a request; says what surely did not happen."""

import httpx

from scenarios.system import Cancel, Operation, Outcome, ReadStatus, Submit

TIMEOUT_S = 5.0

SURELY_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class HttpClient:
    """One keep-alive connection to the API at `base_url`."""

    def __init__(self, base_url: str) -> None:
        self._http = httpx.Client(base_url=base_url, timeout=TIMEOUT_S, transport=httpx.HTTPTransport(retries=0))

    def invoke(self, operation: Operation) -> Outcome:
        """See scenarios.system.Client."""
        try:
            response = self._send(operation)
        except SURELY_NOT_SENT as error:
            return Outcome("fail", detail=repr(error))
        except httpx.HTTPError as error:
            return Outcome("info", detail=repr(error))
        return _outcome(operation, response)

    def close(self) -> None:
        """See scenarios.system.Client."""
        self._http.close()

    def _send(self, operation: Operation) -> httpx.Response:
        match operation:
            case Submit():
                body: dict[str, object] = {
                    "user_id": operation.user,
                    "type": "probe",
                    "payload": dict(operation.payload),
                }
                if operation.deadline_s is not None:
                    body["deadline_s"] = operation.deadline_s
                headers = {} if operation.key is None else {"Idempotency-Key": operation.key}
                return self._http.post("/tasks", json=body, headers=headers)
            case ReadStatus():
                return self._http.get(f"/tasks/{operation.id}")
            case Cancel():
                return self._http.post(f"/tasks/{operation.id}/cancel")


def _outcome(operation: Operation, response: httpx.Response) -> Outcome:
    """2xx did it, but for a cancellation that is only asked for; 4xx did not; 5xx only if the answer says so."""
    body = _json(response)
    if response.is_success:
        only_asked = isinstance(operation, Cancel) and response.status_code == httpx.codes.ACCEPTED
        progress = body.get("progress") or {}
        percent = progress.get("percent") if isinstance(progress, dict) else None
        return Outcome(
            "info" if only_asked else "ok",
            id=_text(body.get("id")),
            state=_text(body.get("status")),
            percent=None if percent is None else float(percent),
        )
    detail = f"{response.status_code} {body.get('error', '')}"[:200]
    surely_not = response.is_client_error or body.get("definite") is True
    return Outcome("fail" if surely_not else "info", detail=detail)


def _json(response: httpx.Response) -> dict[str, object]:
    try:
        body = response.json()
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _text(value: object) -> str | None:
    return None if value is None else str(value)
