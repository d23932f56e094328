"""A scenario of its own: more work than the workers can do, so that each has prefetched messages in hand when its connection is cut."""

from tasklab.scenario import AckOfKnownTask, AtStart, Between, Guarantee, Scenario, Strike, SwallowAck, Workload

scenario = Scenario(
    name="prefetched",
    story=(
        "One acknowledgement of a busy worker never reaches RabbitMQ, and the worker's connection is cut. "
        "What it had prefetched runs there, and again where RabbitMQ delivers it next."
    ),
    workload=Workload(tasks=80, rate_per_s=80, work_s=Between(0.2, 0.4)),
    strikes=(Strike(SwallowAck("worker", nth=1), when=AtStart(), drawn={"nth": Between(5, 10)}),),
    at_stake=(Guarantee.NO_LOST_TASK, Guarantee.NO_STUCK_TASK, Guarantee.DUPLICATES_EXPLAINED),
    premises=(AckOfKnownTask(),),
)
