"""One life cycle, the same for the system and for the judge that knows nothing of it."""

import itertools

import pytest

from reference_impl.rows.transitions import transition
from reference_impl.task import FINAL, HELD, TRANSITIONS, WAITING, TaskState
from scenarios.judging.checkers import legal_transitions

PAIRS = [(None, TaskState.ACCEPTED), *itertools.product(TaskState, TaskState)]


def test_every_state_is_waiting_or_held_or_final_and_only_one_of_them() -> None:
    assert sorted([*WAITING, *HELD, *FINAL]) == sorted(TaskState)
    assert [state for state in TaskState if state.is_final] == [
        "SUCCEEDED",
        "FAILED",
        "DEAD",
        "CANCELLED",
        "EXPIRED",
    ]


def test_the_judge_knows_the_transitions_of_the_system_and_beside_them_only_a_burial_without_an_attempt() -> None:
    """R2: two tables, written twice, so that one cannot excuse the other. The reference buries no task that waits; others may (rule 20)."""
    ours = {(before, after) for before, afters in TRANSITIONS.items() for after in afters}
    the_judge_s = {(before, after) for before, afters in legal_transitions.TRANSITIONS.items() for after in afters}

    assert the_judge_s == ours | {("ACCEPTED", "DEAD"), ("RETRYING", "DEAD")}


def test_nothing_leaves_a_final_state_but_a_dead_task_that_a_person_redrives() -> None:
    """R2."""
    leaving = [(before, after) for before in sorted(FINAL) for after in TRANSITIONS[before]]

    assert leaving == [(TaskState.DEAD, TaskState.ACCEPTED)]


def test_only_a_waiting_task_can_come_to_run_or_one_that_waited_for_a_tool() -> None:
    """R2."""
    before_running = {before for before, afters in TRANSITIONS.items() if TaskState.RUNNING in afters}

    assert before_running == {TaskState.ACCEPTED, TaskState.RETRYING, TaskState.WAITING_TOOL}


@pytest.mark.parametrize(("before", "after"), [step for step in PAIRS if step[0] is not None])
def test_a_statement_can_be_built_for_a_legal_transition_and_for_no_other(before: TaskState, after: TaskState) -> None:
    """R2: the one way by which rows change their state refuses to be written otherwise."""
    if after in TRANSITIONS[before]:
        assert (transition(before, after).from_, transition(before, after).to) == (before, after)
    else:
        with pytest.raises(AssertionError, match="is not a transition of the life cycle"):
            transition(before, after)
