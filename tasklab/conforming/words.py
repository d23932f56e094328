"""The words that every system has: submit, the attempt and effect of a worker, status, account; tried on tasks that nothing disturbs."""

from scenarios.contract.system import Account
from scenarios.experiment.drain import listed_in
from scenarios.judging.checkers.legal_transitions import STATES
from scenarios.record.events import FINAL_LISTS, FINAL_STATES
from tasklab.conforming.bench import Bench

PLAIN = tuple(f"task-{number:04d}" for number in range(1, 13))  # named as in every run
HELD = "held"
MEND_EFFECT = "run every acknowledged task: each calls tasklab_probe.run_task (or begin) with its payload, unchanged"


def check_submit(bench: Bench) -> None:
    """Plain tasks are acknowledged, each with an id."""
    outcomes = {task: bench.submit(task) for task in PLAIN}
    refused = [
        f"{task}: {one.kind}, {one.detail or 'no reason given'}" for task, one in outcomes.items() if one.kind != "ok"
    ]
    if refused:
        mend = "answer submit with ok and the id of the task as soon as your system is sure to keep it"
        bench.findings.mend(
            "submit", f"of {len(PLAIN)} plain tasks {len(refused)} were not acknowledged ({refused[0]})", mend
        )
        return
    unnamed = [task for task, one in outcomes.items() if one.id is None]
    same = len({one.id for one in outcomes.values()}) < len(PLAIN) - len(unnamed)
    wrong = [f"{len(unnamed)} of {len(PLAIN)} answers have no id"] * bool(unnamed) + ["two tasks have one id"] * same
    bench.findings.decide(
        "submit", wrong, f"{len(PLAIN)} tasks were acknowledged", "answer with the id by which status finds the task"
    )


def check_effect(bench: Bench) -> None:
    """Each of them was run by a worker, and had its effect."""
    missing = bench.without_effect(PLAIN)
    wrong = [f"{', '.join(missing)} were acknowledged and had no effect within {bench.seconds()}"] * bool(missing)
    bench.findings.decide("effect", wrong, f"{len(PLAIN)} tasks were run, and had their effects", MEND_EFFECT)


def check_status_of_ended(bench: Bench) -> None:
    """Each of them is read as SUCCEEDED."""
    if "status" not in bench.capabilities:
        return
    first = bench.status(PLAIN[0])
    if first.kind != "ok":
        bench.stage.check_plugin()
        said = f"it is answered with {first.kind}: {first.detail}"
        if "status" in _stated(bench):
            bench.findings.mend("status", said, "answer status with ok and the state")
        else:
            bench.findings.note("status", said)
        return
    late = set(_acted(bench))
    read: dict[str, str | None] = {}

    def all_read() -> bool:
        for task in sorted(late):
            read[task] = bench.status(task).state
        late.difference_update(task for task, state in read.items() if state == "SUCCEEDED")
        return not late

    bench.wait(all_read)
    unknown = sorted({str(state) for state in read.values() if state not in STATES})
    wrong = [f"{task} had its effect, and is read as {read[task]} for {bench.seconds()}" for task in sorted(late)[:3]]
    wrong += [f"{', '.join(unknown)} is no state"] * bool(unknown)
    bench.findings.decide(
        "status",
        wrong,
        "tasks that were done are read as SUCCEEDED",
        f"answer with one of {', '.join(STATES)}, as soon as it is so",
    )


def check_account_of_ended(bench: Bench) -> None:
    """Each of them is listed as done and nowhere else; lists are by the lab's names."""
    acted = _acted(bench)
    if not bench.keeps_account:
        bench.findings.skipped(
            "account", "the system lists nothing; with the power `account`, lost and stuck tasks can be told apart"
        )
        return
    bench.wait(lambda: set(acted) <= set(bench.account().done or ()))
    account = bench.account()
    lists = {name: list(getattr(account, name) or ()) for name in FINAL_LISTS}
    places = {task: [name for name, tasks in lists.items() if task in tasks] for task in PLAIN}
    wrong = [
        f"{task} was done, and is listed as {' and '.join(where) or 'nothing'}"
        for task, where in places.items()
        if task in acted and where != ["done"] and not (account.done is None and not where)
    ]
    wrong += [
        f"{task} had no effect, and is listed as done" for task in lists["done"] if task in set(PLAIN) - set(acted)
    ]
    known = {*bench.submissions.outcomes, *PLAIN}
    strangers = sorted(listed_in(account) - known)
    wrong = wrong[:3] + [f"it lists {one}, which no client submitted" for one in strangers[:1]]
    wrong += [f"{name} names a task twice" for name, tasks in lists.items() if len(set(tasks)) < len(tasks)]
    without = [name for name in FINAL_LISTS if getattr(account, name) is None]
    right = "tasks that were done are listed as done, once" + f"; it does not keep {', '.join(without)}" * bool(without)
    mend = (
        "list every task once, in the list of its present state, by payload['task']; null for a list that is not kept"
    )
    bench.findings.decide("account", wrong, right, mend)


def check_held(bench: Bench) -> None:
    """While a task is in the hands of a worker, it is not read or listed as ended, and is listed as pending."""
    point = bench.outside.arm("effect", 1)
    try:
        outcome = bench.submit(HELD)
        if outcome.kind != "ok":
            bench.findings.unknown(
                "a task at work", f"its submission was answered with {outcome.kind}: {outcome.detail}"
            )
        elif not point.reached.wait_until(lambda: point.is_reached, bench.patience_s):
            said = f"a task was acknowledged, and no task had an effect within {bench.seconds()}"
            bench.findings.mend("a task at work", said, MEND_EFFECT)
        elif point.subject == HELD:
            _check_actor(bench, point.actor)
            _check_while_held(bench)
        else:
            bench.findings.unknown("a task at work", f"{point.subject} was run once more, and was caught in its place")
    finally:
        point.release()
    bench.wait(lambda: bench.has_ended(HELD))


def _check_actor(bench: Bench, actor: str) -> None:
    names = sorted(bench.stage.processes)
    wrong = [f"a worker calls itself {actor!r}, and the processes are {', '.join(names)}"] * (actor not in names)
    mend = "put TASKLAB_ACTOR with the name of the process into its env, and pass it on unchanged"
    bench.findings.decide("name of the worker", wrong, f"{actor} tells what it does by the name of its process", mend)


def _check_while_held(bench: Bench) -> None:
    word = "a task at work"
    state = bench.status(HELD).state
    account = bench.account() if bench.keeps_account else Account()
    listed = [name for name in FINAL_LISTS if HELD in (getattr(account, name) or ())]
    wrong = [f"its status is {state}" for ended in (state,) if ended in FINAL_STATES]
    wrong += [f"it is listed as {name}" for name in listed if name != "pending"]
    seen = "" if state is None else f"; its status is {state}"
    if wrong:
        mend = "a task has ended when its handler has returned, not before; until then it is pending and RUNNING"
        bench.findings.mend(word, f"while a worker has it in hand, {' and '.join(wrong)}", mend)
    elif account.pending is not None and not listed:
        bench.findings.note(word, f"it is in no list while a worker has it in hand: can it outlive that worker?{seen}")
    else:
        bench.findings.ok(word, f"while a worker has it in hand, it is {'pending' if listed else 'not ended'}{seen}")
    places = bench.stage.places()
    if HELD in places:
        bench.findings.ok("dump", f"it says where the task is: {places[HELD][:80]}")


def _stated(bench: Bench) -> frozenset[str]:
    """The capabilities that the system states itself."""
    return frozenset(getattr(bench.stage.system, "capabilities", None) or ())


def _acted(bench: Bench) -> list[str]:
    """The plain tasks that had their effect."""
    return [task for task in PLAIN if task in bench.outside.tasks_with_effect()]
