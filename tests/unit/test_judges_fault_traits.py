"""What a fault explains is what its event states, whatever its name and its target are called."""

import pytest

from chaos.faults import FAULTS, Fault
from scenarios.judging.causes import Cause, repeats_of
from scenarios.judging.policy import policy_from
from scenarios.record.history import Event, History, event_from

EXPLAINED = {"crash": Cause.CRASH, "pause": Cause.OWNER_PAUSED, "disturbance": Cause.FAULT}


def repeated(name: str, target: str, excuses: str, *, ends_process: bool = False) -> History:
    """A task that runs twice; a fault is on while its first attempt runs."""

    def event(at_s: int, actor: str, event: str, **fields: object) -> Event:
        return event_from({"t_s": at_s, "actor": actor, "event": event, **fields})

    names = {"fault": name, "target": target}
    return History(
        [
            event(0, "client", "submit.invoke", task="A"),
            event(0, "client", "submit.ok", task="A"),
            event(1, "w1", "attempt.start", task="A", attempt=1),
            event(2, "lab", "fault.begin", excuses=excuses, **names),
            *([event(2, target, "crash")] if ends_process else []),
            event(2, "lab", "fault.bit", **names),
            event(4, "lab", "fault.healed", **names),
            event(6, "w2", "attempt.start", task="A", attempt=2),
        ]
    )


def cause_of_the_repeat(history: History) -> Cause:
    (repeats,) = repeats_of(history, policy_from({})).values()
    (repeat,) = repeats
    return repeat.cause


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_every_fault_of_the_lab_explains_the_repeats_that_its_trait_names(fault: type[Fault]) -> None:
    history = repeated(fault.name, "w1", fault.excuses, ends_process=fault.excuses == "crash")

    assert cause_of_the_repeat(history) == EXPLAINED[fault.excuses]


@pytest.mark.parametrize("target", ["mysql", "w1"])
def test_a_disturbance_by_a_name_that_tells_nothing_explains_repeats_on_any_target(target: str) -> None:
    assert cause_of_the_repeat(repeated("disk_filled", target, "disturbance")) == Cause.FAULT


def test_a_fault_whose_name_and_target_would_tell_more_explains_no_more_than_its_trait() -> None:
    assert cause_of_the_repeat(repeated("network_paused", "mysql", "pause")) == Cause.UNEXPLAINED
