"""A client for task systems with an HTTP API of the reference's form. Never retries a request."""

from dataclasses import replace

import httpx

from scenarios.contract.http_answers import TIMEOUT_S, answer_of, no_answer
from scenarios.contract.system import Cancel, Operation, Outcome, ReadStatus, Redrive, Submit

CERTAINLY_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
"""The errors after which the server certainly has not received the request; after all others it may have."""

LETTERS_MAX = 1000
"""Dead letters that are looked through for that of a task."""


class HttpClient:
    """One keep-alive connection to the API at `base_url`; `token`: the bearer token that every request carries."""

    def __init__(self, base_url: str, token: str | None = None) -> None:
        self._http = httpx.Client(
            base_url=base_url,
            timeout=TIMEOUT_S,
            transport=httpx.HTTPTransport(retries=0),
            headers={} if token is None else {"Authorization": f"Bearer {token}"},
        )

    def invoke(self, operation: Operation) -> Outcome:
        """Send one request and classify the response. 202 to a cancellation is `info`: the task may still succeed."""
        try:
            response = self._send(operation)
        except httpx.HTTPError as error:
            answer = no_answer(repr(error), definite=isinstance(error, CERTAINLY_NOT_SENT))
        else:
            answer = answer_of(response.status_code, response.content)
            if isinstance(operation, Cancel) and response.status_code == httpx.codes.ACCEPTED:
                answer = replace(answer, kind="info")
        return Outcome(
            answer.kind,
            id=answer.text("id"),
            state=answer.text("status"),
            percent=_percent(answer.content.get("progress")),
            detail=answer.detail,
            result=_result(answer.content.get("result")),
        )

    def close(self) -> None:
        """Close the connection."""
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
            case Redrive():
                return self._http.post(f"/dead-letters/{self._letter_of(operation.id)}/redrive")
        return httpx.Response(400, json={"error": f"this API has no {type(operation).__name__}"})

    def _letter_of(self, task_id: str) -> int:
        """The open dead letter of the task; 0, which is none, where there is none."""
        letters = self._http.get("/dead-letters", params={"limit": LETTERS_MAX})
        found = letters.json() if letters.status_code == httpx.codes.OK else []
        return next((letter["id"] for letter in found if letter["task_id"] == task_id), 0)


def _result(handed_back: object) -> str | None:
    result = handed_back.get("result") if isinstance(handed_back, dict) else None
    return result if isinstance(result, str) else None


def _percent(progress: object) -> float | None:
    percent = progress.get("percent") if isinstance(progress, dict) else None
    return None if percent is None else float(percent)
