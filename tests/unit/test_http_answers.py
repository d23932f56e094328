"""What an HTTP answer says, to the lab's client and to its load generator: only what surely did not happen is a failure."""

import httpx
import pytest

from scenarios.contract.http_answers import HttpAnswer, answer_of, no_answer
from scenarios.contract.system import Cancel, Operation, Outcome, ReadStatus, Submit
from scenarios.systems.http_client import HttpClient

SUBMIT = Submit("task-1", {"task": "task-1"}, key="task-1")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (202, b'{"id": "t1"}', HttpAnswer("ok", content={"id": "t1"})),
        (200, b"not JSON", HttpAnswer("ok")),
        (429, b'{"error": "too many"}', HttpAnswer("fail", "429 too many")),
        (503, b'{"error": "no database", "definite": true}', HttpAnswer("fail", "503 no database")),
        (503, b'{"error": "commit unknown", "definite": false}', HttpAnswer("info", "503 commit unknown")),
        (500, b"Internal Server Error", HttpAnswer("info", "500 ")),
        (502, b'["a list"]', HttpAnswer("info", "502 ")),
        (302, b"", HttpAnswer("info", "302 ")),
    ],
)
def test_only_what_surely_did_not_happen_is_a_failure(status: int, body: bytes, expected: HttpAnswer) -> None:
    assert answer_of(status, body) == expected


def test_an_id_is_text_whatever_it_was() -> None:
    assert answer_of(202, b'{"id": 17}').text("id") == "17"
    assert answer_of(202, b"{}").text("id") is None


def test_no_answer_is_a_failure_only_where_nothing_was_sent() -> None:
    assert no_answer("refused", definite=True) == HttpAnswer("fail", "refused")
    assert no_answer("timed out", definite=False) == HttpAnswer("info", "timed out")


@pytest.mark.parametrize(
    ("operation", "asked", "answer", "outcome"),
    [
        (SUBMIT, "POST /tasks", httpx.Response(202, json={"id": 7}), Outcome("ok", id="7")),
        (SUBMIT, "POST /tasks", httpx.Response(409, json={"error": "in use"}), Outcome("fail", detail="409 in use")),
        (
            ReadStatus("task-1", "7"),
            "GET /tasks/7",
            httpx.Response(200, json={"id": "7", "status": "RUNNING", "progress": {"percent": 40}}),
            Outcome("ok", id="7", state="RUNNING", percent=40.0),
        ),
        (Cancel("task-1", "7"), "POST /tasks/7/cancel", httpx.Response(200, json={"id": "7"}), Outcome("ok", id="7")),
        (Cancel("task-1", "7"), "POST /tasks/7/cancel", httpx.Response(202, json={"id": "7"}), Outcome("info", id="7")),
    ],
    ids=["accepted", "refused", "read", "cancelled", "only asked to cancel"],
)
def test_the_client_reads_every_answer_the_same_way(
    operation: Operation, asked: str, answer: httpx.Response, outcome: Outcome
) -> None:
    seen: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        seen.append(f"{request.method} {request.url.path}")
        return answer

    assert client_of(serve).invoke(operation) == outcome
    assert seen == [asked]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx.ConnectError("refused"), "fail"),
        (httpx.ReadTimeout("silence"), "info"),
        (httpx.WriteError("cut"), "info"),
    ],
)
def test_a_request_that_may_have_left_may_have_been_received(error: httpx.HTTPError, kind: str) -> None:
    def serve(request: httpx.Request) -> httpx.Response:
        raise error

    assert client_of(serve).invoke(SUBMIT).kind == kind


def client_of(serve: object) -> HttpClient:
    client = HttpClient("http://api")
    client.close()
    client._http = httpx.Client(base_url="http://api", transport=httpx.MockTransport(serve))  # type: ignore[arg-type]
    return client
