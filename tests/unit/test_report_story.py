"""The story of a simulated world as rows: numbers, lanes, thread, and what is left out."""

from reports.story import LANES_MAX, OTHERS, TURNS_HEAD, TURNS_TAIL, story_of
from scenarios.record.run_facts import Turn


def test_without_steps_there_is_no_story() -> None:
    assert story_of([]) is None


def test_each_actor_has_a_lane_and_each_step_its_number_and_time() -> None:
    turns = [Turn(5_000_000_000, "the client", "submits"), Turn(5_250_000_000, "api-1", "commits")]

    story = story_of(turns)

    assert story is not None
    assert story.lanes == ("the client", "api-1")
    assert [(row.number, row.offset, row.lane, row.text) for row in story.rows] == [
        (1, "+0.000 s", 0, "submits"),
        (2, "+0.250 s", 1, "commits"),
    ]
    assert story.rows[0].lines == (("down",), ())
    assert story.rows[1].lines == (("right", "up"), ("left",))


def test_a_long_story_keeps_its_ends_and_says_what_it_lacks() -> None:
    story = story_of([Turn(n, "a", str(n)) for n in range(100)])

    assert story is not None
    assert len(story.rows) == TURNS_HEAD + TURNS_TAIL
    assert (story.rows[0].number, story.rows[-1].number, story.left_out) == (1, 100, 10)


def test_many_actors_share_the_last_lane() -> None:
    story = story_of([Turn(n, f"worker-{n}", "works") for n in range(LANES_MAX + 3)])

    assert story is not None
    assert story.lanes[-1] == OTHERS
    assert len(story.lanes) == LANES_MAX
    assert [row.lane for row in story.rows[-4:]] == [LANES_MAX - 1] * 4
    assert story.rows[-1].actor == f"worker-{LANES_MAX + 2}"
