"""The errors that clients saw, on the page of a run."""

from reports.client_errors import client_errors
from tests.histories import events


def test_messages_that_differ_in_numbers_and_ids_are_one_kind_and_the_most_frequent_comes_first() -> None:
    seen = events(
        """
        1  client  submit.info    A  detail="connection 17 refused"
        2  client  submit.fail    B  detail="queue full"
        3  client  submit.info    C  detail="connection 18 refused"
        4  client  submit.ok      C
        5  client  cancel.fail    C
        """
    )

    assert [(error.operation, error.outcome, error.n, error.example, error.task) for error in client_errors(seen)] == [
        ("submit", "info", 2, "connection 17 refused", "A"),
        ("submit", "fail", 1, "queue full", "B"),
        ("cancel", "fail", 1, "no message", "C"),
    ]
    assert next((error.first_ns, error.last_ns) for error in client_errors(seen)) == (10**9, 3 * 10**9)


def test_what_workers_and_the_lab_recorded_is_no_error_of_a_client() -> None:
    seen = events(
        "1 worker attempt.start A attempt=1", "2 worker attempt.fail A attempt=1 error=transient", "3 broker ack.info A"
    )

    assert client_errors(seen) == ()
