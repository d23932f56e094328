"""Which task a swallowed acknowledgement was for is decided by the structure of its message, and never by a likeness in text."""

import base64
import json
from typing import Any

import pytest

from chaos.faults import SwallowAck, WithholdConfirm
from chaos.injection import Evidence, Interruption, Message
from scenarios.experiment.lost_acks import acks_in_hand, lost_acks, task_of, tasks_in
from scenarios.experiment.scenario import AtStart, Strike
from scenarios.experiment.strike_state import StrikeState

SHORT_IDS = {"task-1": "1", "task-2": "12", "task-3": "90", "task-4": "907"}
ONE_ACK = SwallowAck("worker-1", 1)
LONG_IDS = {"task-1": "0198c7e2-0001", "task-2": "0198c7e2-0002"}


def as_json(**fields: Any) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    "message",
    [
        Message(as_json(id=907)),
        Message(as_json(id="907")),
        Message(as_json(task_id=907, attempt=1, worker_id=12, retries=90)),
        Message(as_json(job={"args": [1, 12, 90], "job_id": "907"})),
        Message(as_json(args=[{"id": 907}], kwargs={"n": 1})),
        Message(as_json(padding="x" * 5000, task={"id": 907})),
        Message(as_json(payload=as_json(task="task-4", work_s=1), id=1)),
        Message("not JSON: 1 12 90", (("message_id", "907"),)),
        Message("", (("priority", "1"), ("correlation_id", "907"), ("delivery-count", "12"))),
        Message("", (("id", "907"), ("root_id", "1"), ("parent_id", "12"))),
        Message(base64.b64encode(as_json(id=907).encode()).decode()),
        Message(as_json(body=base64.b64encode(b'[[], {"task": "task-4"}, {}]').decode(), properties={"priority": 1})),
        Message(as_json(args=["907"], attempt=1)),
    ],
    ids=lambda message: message.body[:40] or str(message.properties),
)
def test_one_message_of_id_907_is_that_of_one_task(message: Message) -> None:
    assert task_of(message, SHORT_IDS) == "task-4"


@pytest.mark.parametrize(
    "body",
    [
        "907",
        "ack of message 907, delivery tag 12, channel 1",
        as_json(attempt=1, retries=12),
        as_json(done=True),
        "[1]",
        "",
    ],
)
def test_a_short_id_in_a_text_or_under_another_name_proves_nothing(body: str) -> None:
    assert task_of(Message(body), SHORT_IDS) is None


def test_a_long_id_counts_as_a_whole_word_of_any_text() -> None:
    assert task_of(Message("\x80\x04run 0198c7e2-0002 now"), LONG_IDS) == "task-2"
    assert task_of(Message("run 0198c7e2-00022 now"), LONG_IDS) is None


def test_ids_of_celery_are_in_its_headers_and_those_of_other_tasks_are_not_its_own() -> None:
    message = Message(
        base64.b64encode(b"[[], {}, {}]").decode(),
        (("correlation_id", "0198c7e2-0002"), ("parent_id", "0198c7e2-0001"), ("root_id", "0198c7e2-0001")),
    )

    assert task_of(message, LONG_IDS) == "task-2"


def test_a_task_that_was_never_answered_with_an_id_is_known_by_its_own_name() -> None:
    assert task_of(Message(as_json(id="x", payload={"task": "task-9"})), {"task-9": None, "task-1": "1"}) == "task-9"


def test_a_message_in_which_the_strongest_sign_names_two_tasks_names_none() -> None:
    message = Message(as_json(jobs=[{"id": 1}, {"id": 12}]))

    assert (tasks_in(message, SHORT_IDS), task_of(message, SHORT_IDS)) == (("task-1", "task-2"), None)


def test_a_body_without_end_is_read_in_bounded_time() -> None:
    assert task_of(Message("[" * 100_000), SHORT_IDS) is None
    assert task_of(Message(json.dumps([{"id": 5}] * 100_000)), SHORT_IDS) is None


def swallowed(*bodies: str, bit_ns: int | None = 7, fault: Any = ONE_ACK) -> StrikeState:
    state = StrikeState(Strike(fault, AtStart()), fault, target="worker-1", bit_ns=bit_ns, bite_asked_ns=bit_ns)
    state.evidence = Evidence("an ack swallowed", tuple(map(Message, bodies)))
    return state


def test_each_swallowed_ack_is_told_of_its_task_with_the_attempt_where_it_is_known() -> None:
    states = [
        swallowed(as_json(task_id="12")),
        swallowed(as_json(task_id="1"), bit_ns=None),
        swallowed(as_json(task_id="1"), fault=WithholdConfirm("relay", 1)),
        swallowed(as_json(task_id="907"), bit_ns=5),  # planned later, struck earlier
    ]

    events, problems = lost_acks(states, SHORT_IDS, lambda task, actor: {("task-2", "worker-1"): 3}.get((task, actor)))

    assert [(one.event, one.actor, one.t_ns, one.asked_ns, one.task, one.attempt) for one in events] == [
        ("ack.info", "broker", 5, 5, "task-4", None),
        ("ack.info", "broker", 7, 7, "task-2", 3),
    ]
    assert problems == []


def test_an_ack_of_many_messages_is_told_of_each() -> None:
    events, _ = lost_acks([swallowed(as_json(id=1), as_json(id=12))], SHORT_IDS, lambda *_: None)

    assert [event.task for event in events] == ["task-1", "task-2"]


def test_what_a_process_had_in_hand_when_its_connection_ended_is_told_of_that_process() -> None:
    many = (Message(as_json(id=907)), Message(as_json(id="unknown")), Message(as_json(id=12)))

    events = acks_in_hand(
        [(9, Interruption("worker-2", 900, many)), (5, Interruption("worker-1", 500, many[:1]))], SHORT_IDS
    )

    assert [(one.event, one.actor, one.t_ns, one.task, one.attempt) for one in events] == [
        ("ack.info", "worker-1", 5, "task-4", None),
        ("ack.info", "worker-2", 9, "task-4", None),
        ("ack.info", "worker-2", 9, "task-2", None),
    ]


def test_an_ack_that_could_be_that_of_two_tasks_is_a_problem_and_excuses_neither() -> None:
    states = [swallowed(as_json(jobs=[{"id": 1}, {"id": 12}]))]

    assert lost_acks(states, SHORT_IDS, lambda *_: None) == (
        [],
        ["the message whose ack was lost on worker-1 could be that of task-1, task-2"],
    )
