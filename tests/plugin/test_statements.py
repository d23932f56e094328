"""What a system may state of itself: everything that the lab will count with later, and nothing else."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.environment import ProcessSpec
from scenarios.contract.system import Pace, Policy
from scenarios.errors import MalformedStatement, PluginFailed, UnknownName
from scenarios.judging.guarantees import Guarantee
from scenarios.plugin.protocol import Description, StatedProcess
from scenarios.plugin.statements import SECONDS_MAX, checked, checked_processes

WORKER = StatedProcess(name="worker-1", role="worker", argv=("acme", "work"))


def described(**stated: Any) -> Description:
    return Description(**{"protocol": 1, "name": "acme", **stated})


def test_a_statement_has_the_words_of_the_lab() -> None:
    statement = checked(
        described(
            claims=("no_lost_task",),
            needs=("redis",),
            pace={"quiet_s": 2, "lease_s": None},
            policy={"attempts_max": 3, "delays_s": [[0.5, 1]], "budget_s": None},
            reservations={"process_killed": ("no_lost_task",)},
            capabilities=("submit", "redrive"),
        )
    )

    assert statement.claims == {Guarantee.NO_LOST_TASK}
    assert statement.needs == {"redis"}
    assert statement.pace == Pace(quiet_s=2, lease_s=None)
    assert statement.policy == Policy(attempts_max=3, delays_s=((0.5, 1.0),))
    assert statement.reservations == {"process_killed": {Guarantee.NO_LOST_TASK}}
    assert statement.capabilities == {"submit", "redrive"}


@given(
    field=st.sampled_from(["quiet_s", "lease_s", "lock_s"]),
    value=st.one_of(
        st.floats(max_value=0),
        st.floats(min_value=SECONDS_MAX, exclude_min=True),
        st.just(math.nan),
        st.booleans(),
        st.text(),
        st.lists(st.integers()),
    ),
)
def test_a_duration_is_a_number_of_seconds_above_zero_and_within_bounds(field: str, value: Any) -> None:
    with pytest.raises(MalformedStatement, match=rf"the plug-in of acme states pace.{field} = "):
        checked(described(pace={field: value}))


@given(value=st.floats(min_value=0, max_value=SECONDS_MAX, exclude_min=True))
def test_every_other_duration_is_taken_as_it_is(value: float) -> None:
    assert checked(described(pace={"lease_s": value})).pace == Pace(lease_s=value)


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"policy": {"budget_s": 1e308}}, r"the policy's budget_s is 1e\+308: not a number from 0 to"),
        ({"policy": {"budget_s": 1e8}}, r"policy.budget_s = 100000000.0: at most 1,000,000 seconds are allowed"),
        ({"policy": {"delays_s": [[1, 1e9]]}}, r"policy.delays_s = .*: at most 1,000,000 seconds are allowed"),
        ({"policy": {"budget_s": -1}}, "a policy: the policy's budget_s is -1"),
        ({"policy": {"attempts_max": 0}}, "policy.attempts_max = 0: it must be a number from 1 to 10,000"),
        ({"policy": {"attempts_max": "three"}}, "a policy: invalid policy: Expected `int"),
        ({"pace": {"quiet_s": None}}, "pace.quiet_s = None"),
        ({"name": ""}, "the name ''"),
        ({"name": "a/b"}, "the name 'a/b'"),
        ({"name": "x" * 65}, "a name has 1 to 64 letters"),
    ],
)
def test_what_cannot_be_is_told_by_its_field(stated: dict[str, Any], why: str) -> None:
    with pytest.raises(MalformedStatement, match=why):
        checked(described(**stated))


@pytest.mark.parametrize(
    ("stated", "why"),
    [
        ({"claims": ("no_lost_tusk",)}, "no promise 'no_lost_tusk'; did you mean no_lost_task"),
        ({"needs": ("rabbit",)}, "no service 'rabbit'; did you mean rabbitmq"),
        ({"reservations": {"process_kill": ()}}, "no fault 'process_kill'; did you mean process_killed"),
        ({"reservations": {"process_killed": ("x",)}}, "no promise 'x'"),
        ({"pace": {"quite_s": 1}}, "no field of pace 'quite_s'; did you mean quiet_s"),
        ({"policy": {"attempts": 1}}, "no field of policy 'attempts'; did you mean attempts_max"),
        ({"capabilities": ("submits",)}, "no capability 'submits'; did you mean submit"),
    ],
)
def test_an_unknown_name_is_told_with_the_nearest(stated: dict[str, Any], why: str) -> None:
    with pytest.raises(UnknownName, match=why):
        checked(described(**stated))


def test_a_process_has_the_words_of_the_lab() -> None:
    assert checked_processes("acme", [WORKER]) == (ProcessSpec("worker-1", "worker", ("acme", "work")),)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"name": "../x"}, "process '../x': a name has"),
        ({"name": "lab"}, "and is not one of the lab's own"),
        ({"role": ""}, "its role is empty"),
        ({"argv": ()}, "argv names no program"),
        ({"argv": ("",)}, "argv names no program"),
        ({"argv": ("a\0",)}, "holds a zero byte"),
        ({"env": {"A=B": "c"}}, "env holds a name that is empty or has '=' in it"),
        ({"stop_signal": "SIGTREM"}, "stop_signal is 'SIGTREM'; did you mean SIGTERM"),
    ],
)
def test_a_process_that_cannot_be_started_is_told_by_its_name(changed: dict[str, Any], why: str) -> None:
    fields = {name: getattr(WORKER, name) for name in WORKER.__struct_fields__}

    with pytest.raises(PluginFailed, match=why):
        checked_processes("acme", [StatedProcess(**{**fields, **changed})])
    with pytest.raises(PluginFailed, match="two processes have this name"):
        checked_processes("acme", [WORKER, WORKER])
