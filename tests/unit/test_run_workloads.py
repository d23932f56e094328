"""What tasks and people do beyond submitting: traits and deeds become a plan, the plan becomes operations, these become events."""

from collections import deque
from time import monotonic_ns
from typing import Any

import pytest

from scenarios.contract.capabilities import CAPABILITIES, OWN_BODY, implied_by
from scenarios.contract.system import (
    Account,
    Operation,
    Outcome,
    Pace,
    Pause,
    ReadStatus,
    Redrive,
    Resume,
    SetSchedule,
    Submit,
    capabilities_of,
)
from scenarios.errors import UnknownName
from scenarios.experiment.arrival import Act, Arrival, RedriveWhenDead
from scenarios.experiment.clients import Clients
from scenarios.experiment.facts import stated_schedules
from scenarios.experiment.operator import AGAIN_S, Operator
from scenarios.experiment.plan import Plan, plan
from scenarios.experiment.scenario import (
    Deed,
    FailsUnknown,
    HasChildren,
    HasDeadline,
    HasPriority,
    HasResult,
    HasScope,
    IsCancelled,
    IsOrdered,
    IsResubmitted,
    IsScheduled,
    KillsWorker,
    OfFewUsers,
    OutlastsDeadline,
    OutlastsLease,
    PausesTasks,
    RedrivesDead,
    ReportsProgress,
    Scenario,
    SetsSchedule,
    SharesKey,
    Trait,
    Workload,
)
from scenarios.experiment.submissions import Submissions
from scenarios.judging.policy import Policy, Schedule
from tests.thread_stage import Events, ThreadStage

EVERYTHING = frozenset(CAPABILITIES) - {OWN_BODY}
TASKS = 20


def planned(
    *traits: Trait, deeds: tuple[Deed, ...] = (), capabilities: frozenset[str] = EVERYTHING, **more: Any
) -> Plan:
    workload = Workload(tasks=TASKS, rate_per_s=10, work_s=0.02, traits=traits, deeds=deeds, **more)
    scenario = Scenario("planned", "It is planned.", workload, (), ())
    return plan(scenario, 7, policy=Policy(attempts_max=3), pace=Pace(lease_s=2.0), capabilities=capabilities)


def fields(trait: Trait, name: str) -> list[Any]:
    """What the tasks with the trait have in that field of their submission, arrival or payload."""
    arrivals = planned(trait).arrivals
    found = [getattr(one, name, getattr(one.submit, name, one.submit.payload.get(name))) for one in arrivals]
    return [value for value in found if value]


@pytest.mark.parametrize(
    ("trait", "field", "expected"),
    [
        (FailsUnknown(percent=10), "outcomes", [["unknown"]] * 2),
        (KillsWorker(percent=5), "outcomes", [["die"] * 6]),
        (KillsWorker(percent=10, times=1), "outcomes", [["die"]] * 2),
        (HasResult(percent=5, size=30), "result_size", [30]),
        (ReportsProgress(percent=5, times=4), "reports", [4]),
        (IsCancelled(percent=10, after_s=0.5), "cancel_s", [0.5] * 2),
        (HasDeadline(percent=5, deadline_s=1.5), "deadline_s", [1.5]),
        (OutlastsDeadline(percent=5, deadline_s=1.0, beyond_s=0.5), "deadline_s", [1.0]),
        (IsScheduled(percent=5, due_s=1.5), "due_s", [1.5]),
        (IsOrdered(percent=10, keys=1), "order_key", ["order-1"] * 2),
        (HasPriority(percent=10, classes=1), "priority", [1] * 2),
        (HasScope(percent=10, scopes=1), "scope", ["scope-1"] * 2),
        (IsResubmitted(percent=5, times=2), "again", [2]),
        (OfFewUsers(users=1), "user", ["user-1"] * TASKS),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Trait) else "",
)
def test_a_trait_is_given_to_its_share_of_the_tasks(trait: Trait, field: str, expected: list[Any]) -> None:
    assert fields(trait, field) == expected


@pytest.mark.parametrize("percent", [1, 4])
def test_a_small_share_is_one_task(percent: int) -> None:
    assert len(fields(KillsWorker(percent=percent), "outcomes")) == 1


def test_work_that_outlasts_the_lease_is_longer_than_the_system_states() -> None:
    assert [work_s for work_s in fields(OutlastsLease(percent=10, leases=1.5), "work_s") if work_s > 1] == [3.0, 3.0]


def test_a_task_has_one_way_to_fail() -> None:
    outcomes = [one.submit.payload.get("outcomes") for one in planned(KillsWorker(), failing_for_good=50).arrivals]

    assert {tuple(one) for one in outcomes if one} == {("permanent",), ("die",) * 6}


def test_children_have_payloads_of_their_own_and_names_below_their_parents() -> None:
    (payload,) = [
        one.submit.payload
        for one in planned(HasChildren(percent=5, count=2, deep=2)).arrivals
        if "then" in one.submit.payload
    ]
    task = payload["task"]

    assert payload["then"] == {"task": f"{task}.then", "work_s": 0.01}
    assert payload["children"] == [
        {"task": f"{task}.{n}", "work_s": 0.01, "children": [{"task": f"{task}.{n}.1", "work_s": 0.01}]} for n in (1, 2)
    ]


def test_another_task_under_the_same_key_comes_later_and_is_tried_once() -> None:
    arrivals = planned(IsResubmitted(), IsCancelled(), SharesKey(percent=5, after_s=0.25)).arrivals
    (other,) = [one for one in arrivals if one.submit.task.endswith("-again")]
    (first,) = [one for one in arrivals if one.submit.key == other.submit.key and one is not other]

    assert (other.at_s - first.at_s, other.tries) == (pytest.approx(0.25), 1)
    assert (other.again, other.cancel_s) == (0, None)
    assert other.submit.payload == {**first.submit.payload, "task": other.submit.task}
    assert [one.at_s for one in arrivals] == sorted(one.at_s for one in arrivals)


@pytest.mark.parametrize(
    "trait",
    [
        IsResubmitted(),
        SharesKey(),
        HasResult(),
        HasChildren(),
        IsCancelled(),
        HasDeadline(),
        IsScheduled(),
        IsOrdered(),
        HasPriority(),
        HasScope(),
    ],
    ids=lambda trait: type(trait).__name__,
)
def test_a_system_that_lacks_a_capability_gets_plain_tasks(trait: Trait) -> None:
    assert trait.needs

    assert planned(trait, capabilities=EVERYTHING - trait.needs).arrivals == planned().arrivals
    assert planned(trait).arrivals != planned().arrivals


def test_a_task_that_runs_its_own_code_is_not_planned_to_fail_and_its_number_of_effects_is_not_stated() -> None:
    own = planned(failing_once=50, failing_for_good=50, capabilities=EVERYTHING | {OWN_BODY}).arrivals

    assert {frozenset(one.submit.payload) for one in own} == {frozenset({"task", "work_s", "steps"})}
    assert {one.submit.payload["steps"] for one in own} == {None}


def test_deeds_become_acts_in_the_order_of_their_time() -> None:
    deeds = (
        PausesTasks(at_s=2.0, lasts_s=1.0, scopes=1),
        SetsSchedule(at_s=0.5, every_s=0.25, times=4),
        RedrivesDead(most=1),
    )
    acts = planned(deeds=deeds, failing_for_good=100).acts

    schedule = SetSchedule("every-0.25-s", 0.25, 4, {"task": "every-0.25-s", "work_s": 0.01})
    assert acts == (
        Act(0.0, RedriveWhenDead("task-0001")),
        Act(0.5, schedule),
        Act(2.0, Pause("scope-1")),
        Act(3.0, Resume("scope-1")),
    )
    assert planned(deeds=deeds, failing_for_good=100, capabilities=frozenset({"pause", "resume"})).acts == (
        Act(2.0, Pause(None)),
        Act(3.0, Resume(None)),
    )


class Answers:
    """A client that gives the next of its answers to each operation of a kind, and the last one again and again."""

    def __init__(self, **answers: list[Outcome]) -> None:
        self.answers = answers
        self.asked: list[Operation] = []

    def invoke(self, operation: Operation) -> Outcome:
        self.asked.append(operation)
        left = self.answers.get(type(operation).__name__, [Outcome("ok", id="1")])
        return left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        """Nothing."""


def operate(client: Answers, *acts: Act) -> ThreadStage:
    """What an operator does who has these acts to do, where the task `a` was acknowledged."""
    stage = ThreadStage(make_client=lambda: client)
    stage.submissions = Submissions(stage.events, stage.now_ns, stage.signal())
    stage.submissions.note("a", Outcome("ok", id="1"))
    Operator(stage, stage.submissions, acts).work()  # type: ignore[arg-type]
    return stage


def test_a_pause_is_asked_for_until_it_is_promised_and_only_the_promise_is_recorded() -> None:
    client = Answers(Pause=[Outcome("info"), Outcome("ok")], Resume=[Outcome("ok")])

    stage = operate(client, Act(0.0, Pause("s")), Act(0.0, Resume("s")))

    assert [type(one).__name__ for one in client.asked] == ["Pause", "Pause", "Resume"]
    recorded = [(one["event"], one["scope"], "asked_ns" in one) for one in stage.events.recorded]
    assert recorded == [("pause.ok", "s", True), ("resume.ok", "s", True)]


def test_what_surely_cannot_be_done_is_not_asked_for_again() -> None:
    client = Answers(Pause=[Outcome("fail")])

    stage = operate(client, Act(0.0, Pause()))

    assert (client.asked, stage.events.recorded) == ([Pause()], [])


def test_a_resumption_that_is_refused_after_an_open_answer_took_place_since_the_first_try() -> None:
    client = Answers(Resume=[Outcome("info"), Outcome("info"), Outcome("fail")])
    stage = ThreadStage(make_client=lambda: client)
    stage.now_ns = monotonic_ns  # type: ignore[method-assign]
    stage.submissions = Submissions(stage.events, monotonic_ns, stage.signal())
    Operator(stage, stage.submissions, [Act(0.0, Resume("s"))]).work()  # type: ignore[arg-type]

    (event,) = stage.events.recorded
    assert (event["event"], event["scope"]) == ("resume.ok", "s")
    assert monotonic_ns() - int(event["asked_ns"]) >= 2 * AGAIN_S * 1e9


def test_a_resumption_that_is_refused_at_once_took_no_place() -> None:
    assert operate(Answers(Resume=[Outcome("fail")]), Act(0.0, Resume("s"))).events.recorded == []


def test_a_task_that_was_surely_refused_is_not_put_back() -> None:
    client = Answers()
    stage = ThreadStage(make_client=lambda: client)
    stage.submissions.note("a", Outcome("fail"))
    Operator(stage, stage.submissions, [Act(0.0, RedriveWhenDead("a"))]).work()  # type: ignore[arg-type]

    assert client.asked == []


def test_what_a_task_demands_is_awaited_once_that_task_is_done() -> None:
    stage = ThreadStage(make_client=Answers)
    payload = {"children": [{"task": "a.1", "children": [{"task": "a.1.1"}]}], "then": {"task": "a.then"}}
    stage.submissions.submit(Answers(), Submit("a", payload), "client-1")
    accounts = [Account(done=done, dead=[], pending=[]) for done in ([], ["a"], ["a", "a.1"])]

    awaited = [sorted(stage.submissions.awaited(account)) for account in accounts]

    assert awaited == [["a"], ["a", "a.1", "a.then"], ["a", "a.1", "a.1.1", "a.then"]]


def test_a_schedule_that_was_set_up_becomes_part_of_the_policy() -> None:
    stage = operate(Answers(), Act(0.0, SetSchedule("s", 0.5, 3, {})))
    (schedule,) = stage.submissions.schedules.values()

    assert (schedule.every_s, schedule.until_s) == (0.5, pytest.approx(schedule.since_s + 1.0))
    stated = stated_schedules({"s": Schedule(0.5, 1.0, 2.0)}, Stating())  # type: ignore[arg-type]
    assert stated == {"schedules": {"s": {"every_s": 0.5, "since_s": 1.0, "until_s": 2.0, "catch_up": None}}}


def test_a_task_is_put_back_once_it_is_dead_and_when_that_was_asked_for_is_noted() -> None:
    client = Answers(ReadStatus=[Outcome("ok", state="RUNNING"), Outcome("ok", state="DEAD")])

    stage = operate(client, Act(0.0, RedriveWhenDead("a")))

    assert client.asked == [ReadStatus("a", "1"), ReadStatus("a", "1"), Redrive("a", "1")]
    assert list(stage.submissions.redriven_ns) == ["a"]


@pytest.mark.parametrize(("then", "asked"), [("DEAD", 2), ("RUNNING", 1)])
def test_after_a_redrive_that_may_have_been_none_the_status_tells(then: str, asked: int) -> None:
    states = [Outcome("ok", state="DEAD"), Outcome("ok", state=then)]
    client = Answers(ReadStatus=states, Redrive=[Outcome("info"), Outcome("ok")])

    stage = operate(client, Act(0.0, RedriveWhenDead("a")))

    assert client.asked.count(Redrive("a", "1")) == asked
    assert list(stage.submissions.redriven_ns) == ["a"]


def test_a_submission_is_recorded_with_what_it_states_and_its_time_counts_from_both_ends() -> None:
    events = Events()
    stage = ThreadStage(make_client=Answers)
    left = iter([1.0, 3.0])
    submissions = Submissions(events, lambda: round(next(left) * 1e9), stage.signal())
    submit = Submit("a", {}, key="k", due_s=0.5, order_key="o", priority=2, scope="s")

    submissions.submit(Answers(), submit, "client-1")

    said = [(one["due_s"], one["order_key"], one["priority"], one["scope"]) for one in events.recorded]
    assert said == [(1.5, "o", 2, "s"), (3.5, "o", 2, "s")]


def test_a_task_that_is_answered_with_the_id_of_another_is_that_one() -> None:
    stage = ThreadStage(make_client=Answers)

    for task in ("a", "a-again"):
        stage.submissions.note(task, Outcome("ok", id="1"))

    assert (stage.submissions.outcomes, stage.submissions.ids) == ({"a": "ok"}, {"a": "1"})


def test_clients_submit_again_what_is_to_be_resubmitted() -> None:
    client = Answers()
    stage = ThreadStage(make_client=lambda: client)
    (arrival, *_) = planned(IsResubmitted(times=2)).arrivals
    clients = Clients(stage, stage.submissions, {"client-1": deque([arrival])})  # type: ignore[arg-type]
    clients.start()
    clients.await_end()

    assert client.asked == [arrival.submit] * 3


@pytest.mark.parametrize(("has_keys", "times"), [(True, 3), (False, 1)])
def test_what_may_have_been_accepted_is_submitted_again_only_where_its_key_is_known(has_keys: bool, times: int) -> None:
    client = Answers(Submit=[Outcome("info")])
    stage = ThreadStage(make_client=lambda: client)
    roster = {"client-1": deque([Arrival(0.0, Submit("a", {}, key="a", user="u"), tries=3)])}
    clients = Clients(stage, stage.submissions, roster, has_keys=has_keys)  # type: ignore[arg-type]
    clients.start()
    clients.await_end()

    assert len(client.asked) == times


class Stating:
    """A system that claims this."""

    name = "stating"
    claims: Any = frozenset()
    needs: Any = frozenset()


class Capable(Stating):
    """A system that says what it can."""

    capabilities = frozenset({"submit", "cancle"})


def test_without_a_statement_a_system_can_what_its_claims_need() -> None:
    assert implied_by({"cancel_honoured", "pause_honoured"}) == {"submit", "status", "cancel", "pause", "resume"}
    assert capabilities_of(Stating()) == {"submit", "status"}  # type: ignore[arg-type]


def test_a_capability_that_does_not_exist_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="no capability 'cancle'; did you mean cancel"):
        capabilities_of(Capable())  # type: ignore[arg-type]
