"""Dead letters: open until a person redrives or discards them."""

from reference_impl.rows import dead_letter
from reference_impl.rows.transactions import transact
from reference_impl.task import TaskState
from tests.unit.reference.reference_world import SETTINGS, World


def test_a_dead_letter_is_open_until_a_person_redrives_it_with_a_fresh_budget(world: World) -> None:
    """R12."""
    task = world.submit()
    world.kill(task)
    letter = world.letters()[0]

    def redrive() -> bool:
        return transact(
            world.engine,
            lambda connection: dead_letter.redrive(
                connection, letter.id, actor="operator", work_queue=SETTINGS.work_queue
            ),
        )

    answers = [redrive(), redrive()]

    row = world.find(task)
    handled = world.letters()[0]
    assert answers == [True, False]
    assert (row.status, row.attempts_spent, row.attempt) == (TaskState.ACCEPTED, 0, SETTINGS.attempts_max)
    assert (handled.handled_how, handled.handled_us is not None) == ("redriven", True)
    assert transact(world.engine, dead_letter.open_count) == 0
    assert world.outbox(task_id=task.id)[-1].queue == SETTINGS.work_queue
    claim = world.claim(task)
    assert (claim.attempt, claim.fence) == (SETTINGS.attempts_max + 1, SETTINGS.attempts_max + 1)


def test_a_task_that_dies_again_writes_a_letter_again(world: World) -> None:
    """R12: DEAD if and only if there is an open letter, or one that a person has closed."""
    task = world.submit()
    world.kill(task)
    first = world.letters()[0]
    transact(
        world.engine,
        lambda connection: dead_letter.redrive(connection, first.id, actor="o", work_queue=SETTINGS.work_queue),
    )

    world.kill(task)

    letters = transact(world.engine, lambda connection: dead_letter.open_letters(connection, rows_max=10))
    assert [(letter.task_id, letter.attempts) for letter in letters] == [(task.id, SETTINGS.attempts_max)]
    assert len(world.letters()) == 2


def test_a_discarded_letter_is_closed_with_its_reason_and_its_task_stays_dead(world: World) -> None:
    """R12."""
    task = world.submit()
    world.kill(task)
    letter = world.letters()[0]

    def discard(why: str) -> bool:
        return transact(world.engine, lambda connection: dead_letter.discard(connection, letter.id, why=why))

    answers = [discard("known bug " + "x" * 300), discard("again")]

    assert answers == [True, False]
    assert world.letters()[0].handled_how.startswith("discarded: known bug")
    assert len(world.letters()[0].handled_how) == 200
    assert world.find(task).status is TaskState.DEAD
    assert not transact(
        world.engine,
        lambda connection: dead_letter.redrive(connection, letter.id, actor="o", work_queue=SETTINGS.work_queue),
    )


def test_open_letters_come_oldest_first_and_no_more_than_asked_for(world: World) -> None:
    """R12."""
    tasks = [world.kill(world.submit()) for _ in range(3)]

    letters = transact(world.engine, lambda connection: dead_letter.open_letters(connection, rows_max=2))

    assert [letter.task_id for letter in letters] == [task.id for task in tasks[:2]]
    assert transact(world.engine, dead_letter.open_count) == 3
    assert not transact(
        world.engine, lambda connection: dead_letter.redrive(connection, 999, actor="o", work_queue="q")
    )
