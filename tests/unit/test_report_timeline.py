"""The frame of a run's pictures: what run.json knows, completed from the history where a run was killed."""

import msgspec

from reports.timeline import Phase, RunTimeline, timeline_of
from scenarios.record.history import NS_PER_S
from scenarios.record.run_facts import FaultRecord, RunFacts
from tests.histories import history


def facts(*strikes: FaultRecord, **phases_s: int) -> RunFacts:
    phases_ns = {name: at_s * NS_PER_S for name, at_s in phases_s.items()}
    return RunFacts(
        scenario="s", system="x", environment="local", seed=1, repeat="", strikes=list(strikes), phases_ns=phases_ns
    )


PLANNED = FaultRecord(fault="process_killed", target="the one reached", when="at the 5th effect")
STRUCK = FaultRecord(
    fault="process_killed",
    target="worker-2",
    when="at the 5th effect",
    begun_ns=1,
    bit_ns=2,
    ended_ns=3,
    healed_ns=4,
)


def test_what_run_json_knows_is_not_changed_by_the_history() -> None:
    seen = history(
        """
        1 lab fault.begin fault=process_killed target=worker-2
        2 lab fault.bit fault=process_killed target=worker-2
        3 lab fault.end fault=process_killed target=worker-2
        4 lab fault.healed fault=process_killed target=worker-2
        """
    )

    assert timeline_of(facts(STRUCK), seen).faults == (("A", STRUCK),)


def test_a_plan_without_times_takes_them_from_the_history() -> None:
    seen = history(
        """
        1 lab fault.begin fault=process_killed target=worker-2
        2 lab fault.bit fault=process_killed target=worker-2
        """
    )

    timeline = timeline_of(facts(PLANNED), seen)

    assert timeline.faults == (("A", msgspec.structs.replace(PLANNED, begun_ns=NS_PER_S, bit_ns=2 * NS_PER_S)),)


def test_the_second_time_a_fault_strikes_is_the_second_strike_of_the_plan() -> None:
    seen = history(
        """
        1 lab fault.begin fault=process_killed target=worker-1
        5 lab fault.begin fault=process_killed target=worker-2
        """
    )

    timeline = timeline_of(facts(PLANNED, PLANNED), seen)

    assert [(letter, strike.begun_ns) for letter, strike in timeline.faults] == [("A", NS_PER_S), ("B", 5 * NS_PER_S)]


def test_a_fault_that_no_plan_names_is_shown_as_it_was_seen() -> None:
    seen = history(
        """
        1 lab fault.begin fault=redis_failed_over target=redis
        3 lab fault.healed fault=redis_failed_over target=redis
        """
    )

    assert timeline_of(facts(), seen).faults == (
        (
            "A",
            FaultRecord(fault="redis_failed_over", target="redis", when="", begun_ns=NS_PER_S, healed_ns=3 * NS_PER_S),
        ),
    )


def test_the_instants_of_a_fault_that_began_on_a_known_target_come_from_the_events_of_that_target() -> None:
    begun = [msgspec.structs.replace(PLANNED, target=worker, begun_ns=1) for worker in ("worker-1", "worker-2")]
    seen = history(
        """
        1 lab fault.begin fault=process_killed target=worker-2
        2 lab fault.bit fault=process_killed target=worker-2
        3 lab fault.begin fault=process_killed target=worker-1
        """
    )

    timeline = timeline_of(facts(*begun), seen)

    assert [(fault.target, fault.bit_ns) for _, fault in timeline.faults] == [
        ("worker-1", None),
        ("worker-2", 2 * NS_PER_S),
    ]


def test_the_end_is_the_last_moment_anybody_recorded() -> None:
    seen = history("7 lab fault.begin fault=process_killed target=worker-1")

    assert timeline_of(facts(storm=0, calm=5), seen).end_ns == 7 * NS_PER_S
    assert timeline_of(facts(storm=0, calm=9), seen).end_ns == 9 * NS_PER_S
    assert timeline_of(facts(), history()).end_ns == 0


def test_a_phase_lasts_until_the_next() -> None:
    timeline = timeline_of(facts(calm=5, storm=1), history())

    assert timeline.phases == (Phase("storm", NS_PER_S), Phase("calm", 5 * NS_PER_S))
    assert [timeline.phase_at(at_s * NS_PER_S) for at_s in (0, 1, 4, 5, 6)] == ["", "storm", "storm", "calm", "calm"]


def test_a_fault_is_in_force_from_being_asked_for_to_being_healed_if_it_ever_bit() -> None:
    missed = FaultRecord(fault="ack_swallowed", target="worker-1", when="", begun_ns=1, ended_ns=9)
    unhealed = FaultRecord(fault="service_killed", target="redis", when="", begun_ns=3, bit_ns=3)
    timeline = RunTimeline(end_ns=10, phases=(), faults=(("A", STRUCK), ("B", missed), ("C", unhealed)))

    assert [timeline.faults_at(t_ns) for t_ns in (0, 1, 3, 4, 5, 10)] == [
        (),
        ("A",),
        ("A", "C"),
        ("A", "C"),
        ("C",),
        ("C",),
    ]


def test_letters_go_on_after_z() -> None:
    letters = [letter for letter, _ in timeline_of(facts(*[PLANNED] * 28), history()).faults]

    assert letters[:2] + letters[25:] == ["A", "B", "Z", "A2", "B2"]


def test_a_strike_that_never_began_takes_nothing_from_another_of_its_kind() -> None:
    missed = FaultRecord(fault="process_killed", target="?", when="", problem="its moment never came")
    seen = history(
        """
        1 lab fault.begin fault=process_killed target=worker-2
        2 lab fault.bit fault=process_killed target=worker-2
        3 lab fault.end fault=process_killed target=worker-2
        4 lab fault.healed fault=process_killed target=worker-2
        """
    )

    assert timeline_of(facts(missed, STRUCK), seen).faults == (("A", missed), ("B", STRUCK))
