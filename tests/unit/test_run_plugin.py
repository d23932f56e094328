"""The edge to a plug-in: whatever it returns or raises ends in one sentence that names it."""

import threading
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scenarios.contract.guard import GuardedClient, answered, plugin_call
from scenarios.contract.system import Account, Handlers, Outcome, Pace, Policy, Submit, pace_of, policy_of
from scenarios.errors import MalformedPolicy, RunFailed, UnknownName, WrongUsage
from scenarios.experiment.clients import Clients, pool
from scenarios.experiment.fitting import processes_of
from scenarios.experiment.plan import Arrival
from scenarios.experiment.status_reader import StatusReader
from scenarios.lookup import address_of, find_system
from tests.thread_stage import ThreadStage

SUBMIT = Submit("a", {"task": "a"})


class Answers:
    """A client that answers the same whatever it is asked."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def invoke(self, operation: object) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer

    def close(self) -> None:
        pass


def test_an_outcome_is_an_outcome() -> None:
    assert GuardedClient(Answers(Outcome("ok", id="1"))).invoke(SUBMIT) == Outcome("ok", id="1")


def test_what_a_client_raises_may_have_happened() -> None:
    outcome = GuardedClient(Answers(OSError("gone"))).invoke(SUBMIT)

    assert outcome == Outcome("info", detail="the client raised OSError('gone')")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, r"the plug-in of a client: invoke\(Submit\) returned None, not Outcome"),
        (True, r"returned True, not Outcome"),
        (Outcome("okay"), r"Outcome\('okay'\); the kinds are ok, fail, info"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_outcome_is_named(answer: Any, said: str) -> None:
    with pytest.raises(RunFailed, match=said):
        GuardedClient(Answers(answer)).invoke(SUBMIT)


def test_a_forgotten_return_is_named() -> None:
    acme = SimpleNamespace(name="acme", needs=frozenset(), processes=lambda services, handlers: None)
    world = SimpleNamespace(name="local", offers=frozenset())

    with pytest.raises(RunFailed, match=r"the plug-in of acme: processes\(\) returned None"):
        processes_of(acme, world, None, Handlers({}))  # type: ignore[arg-type]
    acme.processes = lambda services, handlers: ["acme worker"]
    with pytest.raises(RunFailed, match=r"an item of processes\(\) returned 'acme worker', not ProcessSpec"):
        processes_of(acme, world, None, Handlers({}))  # type: ignore[arg-type]
    with pytest.raises(RunFailed, match=r"account\(\) returned \['a'\], not Account"):
        answered("acme", "account()", ["a"], Account)


@pytest.mark.parametrize("field", ["id", "state", "percent", "detail"])
def test_a_field_of_an_outcome_with_a_wrong_type_is_named(field: str) -> None:
    answer = Outcome("ok", **{field: ["no such thing"]})

    with pytest.raises(RunFailed, match=rf"an Outcome whose {field} is \['no such thing'\], not (text|a number)"):
        GuardedClient(Answers(answer)).invoke(SUBMIT)


def test_a_plug_in_that_asks_python_to_exit_makes_the_run_unknown_and_is_named() -> None:
    def exit_green() -> None:
        raise SystemExit(0)

    with (
        pytest.raises(RunFailed, match=r"the plug-in of acme failed in account\(\): SystemExit\(0\)"),
        plugin_call("acme", "account()"),
    ):
        exit_green()
    with pytest.raises(RunFailed, match=r"a client failed in invoke\(Submit\): SystemExit\(0\)"):
        GuardedClient(Answers(SystemExit(0))).invoke(SUBMIT)


@pytest.mark.parametrize(
    ("error", "told"), [(RunFailed("no client today"), "no client today"), (SystemExit(0), "SystemExit(0)")]
)
def test_a_client_that_cannot_be_made_is_a_problem_of_the_run(error: BaseException, told: str) -> None:
    def make() -> GuardedClient:
        raise error

    before = threading.enumerate()  # other tests may have left threads of their own
    stage = ThreadStage(make_client=make)
    clients = Clients(stage, stage.submissions, pool([Arrival(0.0, SUBMIT)], 2))  # type: ignore[arg-type]
    reader = StatusReader(stage, stage.submissions, every_s=0.01)  # type: ignore[arg-type]
    clients.start()
    reader.start()
    clients.stop()
    reader.stop()

    names = ("client-1", "client-2", "reader")
    assert sorted(stage.problems()) == [f"{name} has ended early: {told}" for name in names]
    assert set(threading.enumerate()) <= set(before)


@pytest.mark.parametrize(
    ("pace", "told"),
    [
        (Pace(quiet_s=float("nan")), "quiet_s = nan"),
        (Pace(quiet_s=-1.0), "quiet_s = -1.0"),
        (Pace(quiet_s=1e9), "quiet_s = 1000000000.0"),
        (Pace(quiet_s=None), "quiet_s = None"),  # type: ignore[arg-type]
        (Pace(lease_s="10"), "lease_s = '10'"),  # type: ignore[arg-type]
        (Pace(lock_s=float("inf")), "lock_s = inf"),
        (7.0, "its pace is 7.0, not a Pace"),
    ],
)
def test_a_pace_that_is_none_is_refused_with_the_name_of_its_field(pace: Any, told: str) -> None:
    with pytest.raises(MalformedPolicy, match=told):
        pace_of(stating(pace=pace))


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (Policy(attempts_max=-1), "attempts_max"),
        (Policy(budget_s=float("nan")), "budget_s"),
        (Policy(tolerance_s=float("inf")), "tolerance_s"),
        (Policy(grace_s="1"), "grace_s"),  # type: ignore[arg-type]
        (Policy(delays_s=((2.0, 1.0),)), "delays_s"),
        (Policy(window={"kind": "sliding"}), "window"),
        ({}, "its policy is {}, not a Policy"),
    ],
)
def test_a_policy_that_is_none_is_refused_with_the_name_of_its_field(policy: Any, told: str) -> None:
    with pytest.raises(MalformedPolicy, match=told):
        policy_of(stating(policy=policy))


def stating(**stated: Any) -> Any:
    return SimpleNamespace(name="acme", **stated)


def test_a_claim_that_is_no_promise_is_found_before_anything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from scenarios.systems.naive import plugin as naive

    monkeypatch.setattr(type(naive.system), "claims", frozenset({"no_lost_tusk"}), raising=False)

    with pytest.raises(UnknownName, match="there is no promise 'no_lost_tusk'; did you mean no_lost_task"):
        find_system("scenarios.systems.naive.plugin:system")


def test_a_name_that_resembles_none_says_where_all_are() -> None:
    with pytest.raises(UnknownName, match="`tasklab list systems` names all"):
        find_system("zzzz")


@pytest.mark.parametrize(
    "body", ["raise SystemExit(0)", "raise ZeroDivisionError", "import no_such_module", "system ="]
)
def test_a_plug_in_that_does_not_load_is_wrong_usage_in_a_sentence(
    body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "does_not_load.py").write_text(f"{body}\n")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("mine", "does_not_load:system", "tasklab.systems")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])

    with pytest.raises(WrongUsage, match="does_not_load:system"):
        find_system("does_not_load:system")
    with pytest.raises(WrongUsage, match=r"the installed system 'mine' \(does_not_load:system\) does not load"):
        find_system("mine")


def test_a_users_module_below_scenarios_systems_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.lookup.__package__", "tasklab._lab.scenarios")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name.endswith(".mine") else name)

    assert address_of("scenarios.systems.mine") == "scenarios.systems.mine"
    assert address_of("scenarios.systems.mutants.x") == "tasklab._lab.scenarios.systems.mutants.x"
    assert address_of("acme.lab") == "acme.lab"
