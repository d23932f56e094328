"""Checks of optional capabilities: failures and retries, keys, cancellation, pauses, redrives, results, children, due times, schedules."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from scenarios.contract.system import Cancel, Outcome, Pause, Redrive, Resume, SetSchedule, policy_of
from tasklab.conforming.bench import ACTOR, Bench

UNTRIED = frozenset({"deadline", "order_key", "priority", "scope"})
"""Capabilities that only scenarios can try: they need a crowd of tasks."""
DUE_S = 1.0
EARLY_S = 0.7
STILL_S = 1.0
"""How long a task is watched that must not run."""
CANCELS_MAX = 5
"""A task may be done before its cancellation arrives: tries until a cancellation is answered with ok."""
CHILDREN = 6
OCCURRENCES = 3
EVERY_S = 0.5
RETRY_EXTRA_MAX_S = 60.0


def check_failures(bench: Bench) -> None:
    """A task that fails once is tried again; one that fails for good ends as dead. What is lacking is said: promises are for scenarios."""
    bench.submit("fails-once", {"outcomes": ["transient"]})
    bench.submit("fails-for-good", {"outcomes": ["permanent"] * 20})
    within_s = bench.patience_s + _retry_s(bench)
    attempts_max = policy_of(bench.stage.system).attempts_max
    if not bench.without_effect(["fails-once"], within_s=within_s):
        bench.findings.ok("a failure", "a task that failed once was tried again")
    elif attempts_max is not None and attempts_max > 1:
        said = f"a task that failed once was not tried again within {within_s:g} s, although policy.attempts_max is {attempts_max}"
        bench.findings.note("a failure", said)
    else:
        bench.findings.note("a failure", f"a task that failed once was not tried again within {within_s:g} s")
    if not bench.keeps_account:
        return
    if bench.wait(lambda: "fails-for-good" in (bench.account().dead or ()), within_s=within_s):
        bench.findings.ok("a permanent failure", "the task is listed as dead")
    elif "fails-for-good" in (bench.account().done or ()):
        mend = "let the exception of the handler reach your system, and list the task as dead when it is given up"
        bench.findings.mend("a permanent failure", "a task whose handler only failed is listed as done", mend)
    else:
        bench.findings.note("a permanent failure", f"the task is not listed as dead within {within_s:g} s")


def check_key(bench: Bench) -> None:
    """Two submissions by one key: one task, where the system says so; else it is said what they are."""
    first = bench.submit("keyed", key="one-key")
    is_stated = "key" in bench.capabilities
    again = bench.submit("keyed" if is_stated else "keyed-again", key="one-key", user="keyed")
    bench.without_effect(["keyed"])
    if is_stated:
        same = again.kind == "fail" or again.id == first.id
        if same or policy_of(bench.stage.system).coalesce:
            how = "refused" if again.kind == "fail" else "answered with the id of the first"
            bench.findings.ok("key", f"a second submission by the same key was {how}")
        else:
            said = f"two submissions by one key were answered with the ids {first.id} and {again.id}"
            bench.findings.mend("key", said, "answer the second with the id of the first, or state no capability key")
    elif bench.without_effect(["keyed-again"]):
        bench.findings.note(
            "key", "of two tasks by one key only one was run; state the capability key to have that judged"
        )
    else:
        bench.findings.note("key", "it is not honoured: two tasks by one key were both run")


def check_cancel(bench: Bench) -> None:
    """A cancellation that is answered with ok: the task has no effect any more."""
    outcome = Outcome("fail")
    for number in range(1, CANCELS_MAX + 1):
        task = f"cancelled-{number}"
        bench.submit(task, {"work_s": 0.5})
        id_ = bench.submissions.ids.get(task, "")
        outcome = _recorded_cancel(bench, task, id_)
        if outcome.kind != "ok":
            continue
        bench.stage.sleep(0.5 + STILL_S)
        state = bench.status(task).state
        wrong = [f"{task} had its effect after its cancellation was answered with ok"] * (
            task in bench.outside.tasks_with_effect()
        )
        wrong += [f"a cancelled task is read as {state}"] * (state not in ("CANCELLED", None))
        mend = "answer ok only if the task will not run; fail if it is too late"
        bench.findings.decide("cancel", wrong, "a cancelled task had no effect", mend)
        return
    bench.findings.note("cancel", f"{CANCELS_MAX} of {CANCELS_MAX} were answered with {outcome.kind}: {outcome.detail}")


def _recorded_cancel(bench: Bench, task: str, id_: str) -> Outcome:
    records = bench.stage.records("client")
    records.record("cancel.invoke", actor=ACTOR, task=task)
    outcome = bench.client.invoke(Cancel(task, id_))
    records.record(f"cancel.{outcome.kind}", actor=ACTOR, task=task, detail=outcome.detail)
    return outcome


def check_pause(bench: Bench) -> None:
    """While everything is paused no new task runs; after the resumption it does."""
    if _told(bench, Pause(), "pause").kind != "ok":
        return
    bench.stage.sleep(policy_of(bench.stage.system).grace_s or 0.0)
    try:
        bench.submit("paused")
        bench.stage.sleep(STILL_S)
        wrong = [f"a task submitted during a pause was run within {STILL_S:g} s"] * (
            "paused" in bench.outside.tasks_with_effect()
        )
        bench.findings.decide(
            "pause", wrong, f"a task submitted during a pause waited for {STILL_S:g} s", "start no task while paused"
        )
    finally:
        resumed = _told(bench, Resume(), "resume")
    if resumed.kind != "ok":
        return
    wrong = [f"the task was not run within {bench.seconds()} after the resumption"] * bool(
        bench.without_effect(["paused"])
    )
    bench.findings.decide("resume", wrong, "the task was run after the resumption", "let paused tasks start again")


def _told(bench: Bench, does: Pause | Resume | SetSchedule, word: str) -> Outcome:
    asked_ns = bench.stage.now_ns()
    outcome = bench.submissions.tell(bench.client, does, ACTOR, asked_ns=asked_ns, is_unsure=False)
    if outcome.kind != "ok":
        said = f"it is answered with {outcome.kind}: {outcome.detail}"
        bench.findings.mend(word, said, f"carry it out, or do not state the capability {word}")
    return outcome


def check_redrive(bench: Bench) -> None:
    """A dead task that is put back runs again. It died at once, or of failures that used up its attempts."""
    policy = policy_of(bench.stage.system)
    bench.submit("failed-for-good", {"outcomes": ["permanent"]})
    bench.submit("used-up", {"outcomes": ["transient"] * (policy.attempts_max or 1)})
    within_s = bench.patience_s + min(sum(longest for _, longest in policy.delays_s or ()), RETRY_EXTRA_MAX_S)
    died: list[str] = []

    def has_died() -> bool:
        died.extend(task for task in ("failed-for-good", "used-up") if bench.status(task).state == "DEAD")
        return bool(died)

    if not bench.wait(has_died, within_s=within_s):
        bench.findings.note("redrive", f"not tried: no failing task was read as DEAD within {within_s:g} s")
        return
    task, asked_ns = died[0], bench.stage.now_ns()
    outcome = bench.client.invoke(Redrive(task, bench.submissions.ids[task]))
    wrong = [f"it is answered with {outcome.kind}: {outcome.detail}"] * (outcome.kind != "ok")
    if not wrong:
        bench.submissions.redriven_ns[task] = asked_ns
        wrong = [f"{task} was not run again within {bench.seconds()}"] * bool(bench.without_effect([task]))
    mend = "put the dead task back, with all its attempts before it, or state no capability redrive"
    bench.findings.decide("redrive", wrong, "a dead task that was put back was run", mend)


def check_result(bench: Bench) -> None:
    """What the handler returned is what clients read."""
    bench.submit("has-result", {"result_size": 20})
    expected = "has-result try 1 ".ljust(20, "x")
    bench.wait(lambda: bench.status("has-result").result == expected)
    read = bench.status("has-result").result
    wrong = [f"the handler returned {expected!r}, and clients read {read!r}"] * (read != expected)
    mend = 'keep the "result" that the handler returns, and answer status with it'
    bench.findings.decide("result", wrong, "clients read what the handler returned", mend)


def check_children(bench: Bench) -> None:
    """What a handler hands back as children runs, and afterwards what it hands back as `then`."""
    plain = {"work_s": 0.01}
    tasks = [f"parent.{number}" for number in range(1, CHILDREN + 1)]
    children = [{"task": task, **plain} for task in tasks]
    bench.submit("parent", {"children": children, "then": {"task": "parent.then", **plain}})
    missing = bench.without_effect(tasks)
    wrong = [f"of {CHILDREN} payloads {', '.join(missing)} had no effect within {bench.seconds()}"] * bool(missing)
    mend = 'submit the payloads of "children", and that of "then" when all of them are done'
    is_whole = bench.findings.decide(
        "children", wrong, f"{CHILDREN} payloads that the handler handed back were run", mend
    )
    if is_whole and bench.without_effect(["parent.then"]):
        bench.findings.note(
            "then", f"the payload in `then` was not run within {bench.seconds()}: tasks with joins lose it"
        )


def check_due(bench: Bench) -> None:
    """A task that is due later does not run before."""
    bench.submit("due-later", due_s=DUE_S)
    bench.stage.sleep(EARLY_S)
    wrong = [f"it was run within {EARLY_S:g} s, and was due after {DUE_S:g} s"] * (
        "due-later" in bench.outside.tasks_with_effect()
    )
    if not wrong and bench.without_effect(["due-later"]):
        wrong.append(f"it was not run within {bench.seconds()}")
    bench.findings.decide(
        "due", wrong, "a task that was due later was run later", "due_s are seconds from the submission"
    )


def check_schedule(bench: Bench) -> None:
    """Each occurrence of a schedule runs."""
    name = "schedule"
    payload = {"task": name, "work_s": 0.01}
    if _told(bench, SetSchedule(name, EVERY_S, OCCURRENCES, payload), "schedule").kind != "ok":
        return
    tasks = [f"{name}#{number}" for number in range(1, OCCURRENCES + 1)]
    missing = bench.without_effect(tasks, within_s=bench.patience_s + OCCURRENCES * EVERY_S)
    wrong = [f"{', '.join(missing)} had no effect within {bench.seconds()}"] * bool(missing)
    mend = "make occurrence k a task whose payload has NAME#k as its task"
    bench.findings.decide("schedule", wrong, f"{OCCURRENCES} occurrences were run", mend)


def _retry_s(bench: Bench) -> float:
    """The longest stated delay before the first retry."""
    delays = policy_of(bench.stage.system).delays_s or ()
    return min(max((longest for _, longest in delays[:1]), default=0.0), RETRY_EXTRA_MAX_S)


BY_CAPABILITY: Mapping[str, Callable[[Bench], None]] = MappingProxyType(
    {
        "cancel": check_cancel,
        "pause": check_pause,
        "redrive": check_redrive,
        "result": check_result,
        "children": check_children,
        "due": check_due,
        "schedule": check_schedule,
    }
)
