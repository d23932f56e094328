"""What a fault's record says of its process: by the traits of the fault, not by its name."""

import pytest

from chaos.faults import FAULTS, REACHED, KillProcess, PauseProcess
from scenarios.experiment.scenario import AtStart, Strike
from scenarios.experiment.strike_state import StrikeState
from scenarios.record.run_facts import FaultRecord


@pytest.mark.parametrize("fault", [KillProcess(REACHED), PauseProcess(REACHED)], ids=lambda fault: fault.name)
def test_a_record_and_one_of_an_earlier_version_say_the_same(fault: KillProcess | PauseProcess) -> None:
    record = StrikeState(Strike(fault, when=AtStart()), fault).facts()
    earlier = FaultRecord(fault=fault.name, target="worker-1", when="")

    assert (record.crashed_process, record.stopped_process) == (earlier.crashed_process, earlier.stopped_process)
    assert record.crashed_process is (fault.excuses == "crash")


def test_a_new_fault_that_ends_its_process_is_known_by_its_trait() -> None:
    record = FaultRecord(fault="process_terminated", target="worker-1", when="", excuses="crash")

    assert record.crashed_process
    assert record.stopped_process


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_that_ends_its_process_or_a_child_of_it_explains_the_repeats_of_a_crash(name: str) -> None:
    assert (FAULTS[name].excuses == "crash") is (FAULTS[name].ends_process or name == "child_killed")
