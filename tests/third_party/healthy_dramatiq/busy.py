"""Scenarios with more work than the workers can do, so that each has prefetched messages in hand when it loses its connection."""

from tasklab.scenario import (
    AtStart,
    AttemptBegun,
    Between,
    Guarantee,
    KillService,
    Scenario,
    Strike,
    SwallowAck,
    Workload,
)

BUSY = Workload(tasks=80, rate_per_s=80, work_s=Between(0.2, 0.4))
AT_STAKE = (Guarantee.NO_LOST_TASK, Guarantee.NO_STUCK_TASK, Guarantee.DUPLICATES_EXPLAINED)
STORY = "Its workers run what they had prefetched, and so does the worker that gets it next from RabbitMQ."

ack_lost = Scenario(
    name="busy_ack_lost",
    story=f"An acknowledgement of a busy worker is lost, and its connection is cut. {STORY}",
    workload=BUSY,
    strikes=(Strike(SwallowAck("worker", nth=1), when=AtStart(), drawn={"nth": Between(5, 10)}),),
    at_stake=AT_STAKE,
)
broker_killed = Scenario(
    name="busy_broker_killed",
    story=f"RabbitMQ is killed under more work than the workers can do. {STORY}",
    workload=BUSY,
    strikes=(Strike(KillService("broker"), when=AttemptBegun(nth=Between(10, 20)), lasts_s=0.2),),
    at_stake=AT_STAKE,
)
