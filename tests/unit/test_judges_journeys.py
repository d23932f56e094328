"""A witness's story in words: all of it, or no more than proves the break."""

from scenarios.judging.guarantees import Guarantee
from scenarios.judging.journey import LANES, STEPS_MAX, Journey, journeys, story_of
from scenarios.judging.policy import NO_POLICY
from scenarios.judging.shortest import crossed, shortest_story
from scenarios.record.history import History
from tests.anomalies import KINDS, X, one_key_two_ids, planted, two_holders
from tests.history_drafts import Draft
from tests.history_strategies import Life, live


def a_draft() -> Draft:
    draft = Draft()
    live(draft, "a", Life("done", ("fault",), frozenset({"status"}), 1.0))
    return draft


def journey(history: History, witness: str) -> Journey:
    return journeys(history, [witness])[witness]


def test_a_journey_crosses_the_lanes_with_its_faults_and_its_end() -> None:
    steps = journey(a_draft().recorded().history, "a").steps

    assert {step.lane for step in steps} == set(LANES) - {"database"}
    assert [step.text for step in steps if step.lane == "lab"] == [
        "fault service_killed on broker: begins",
        "fault service_killed on broker: seen to bite",
        "fault service_killed on broker: lifted",
        "fault service_killed on broker: target seen healthy",
        "the end (all healed, drained): the account lists it as done",
    ]
    assert [step.t_ns for step in steps] == sorted(step.t_ns for step in steps)


def test_nothing_is_told_of_somebody_unknown() -> None:
    assert journey(a_draft().recorded().history, "nobody") == Journey(())


def test_a_journey_without_end_keeps_its_beginning_and_its_end_and_says_what_it_lacks() -> None:
    draft = a_draft()
    for number in range(500):
        draft.write(f"{50 + number} worker progress a percent=1")

    whole = journey(draft.recorded().history, "a")

    assert len(whole.steps) == STEPS_MAX
    assert (whole.steps[0].text, whole.steps[-1].event) == ("submits the task", "final")
    assert whole.left_out == len(story_of(draft.recorded().history, "a")) - STEPS_MAX > 400


def test_the_shortest_story_of_two_effects_is_the_two_effects() -> None:
    draft = a_draft()
    draft.write("20 worker-x effect a step=1")

    steps = shortest_story(draft.recorded().history, Guarantee.EFFECT_AT_MOST_ONCE, "a", NO_POLICY).steps

    assert [step.text for step in steps] == ["effect of step 1 accepted with fence 1", "effect of step 1 accepted"]
    assert [span.target for span in crossed(draft.recorded().history, steps)] == ["broker"]


def test_no_release_is_left_out_of_the_story_of_a_lease() -> None:
    draft = Draft()
    draft.write(f"0 first lease.acquired resource={X} ttl_s=50", f"1 first lease.released resource={X}")
    two_holders(draft, 2)

    steps = shortest_story(draft.recorded().history, Guarantee.SINGLE_HOLDER, X, NO_POLICY).steps

    assert [(step.actor, step.event) for step in steps if step.actor != "leader-x"] == [("leader-y", "lease.acquired")]


def test_what_is_proven_by_something_missing_or_by_others_is_told_whole() -> None:
    lost, _ = planted(a_draft(), KINDS[0], 5)
    resubmitted, _ = planted(a_draft(), one_key_two_ids, 5)

    for draft, guarantee in ((lost, Guarantee.NO_LOST_TASK), (resubmitted, Guarantee.IDEMPOTENT_SUBMISSION)):
        history = draft.recorded().history
        assert shortest_story(history, guarantee, X, draft.policy) == journey(history, X)
