"""The person of a run: pauses and resumes, sets up schedules, and puts dead tasks back, each at its time."""

from collections.abc import Sequence

from scenarios.contract.system import Client, Pause, ReadStatus, Redrive, Resume, SetSchedule
from scenarios.experiment.arrival import Act, RedriveWhenDead
from scenarios.experiment.stage import Stage
from scenarios.experiment.submissions import Submissions

OPERATOR = "operator"
TRIES_MAX = 20
AGAIN_S = 0.2
"""Between two tries of an act that was not surely done: 4 s in all."""
DEAD_WITHIN_S = 12.0
"""How long after everything else was done a task that is planned to die is waited for."""


class Operator:
    """Carries out what is planned, in one flow."""

    def __init__(self, stage: Stage, submissions: Submissions, acts: Sequence[Act]) -> None:
        self._stage = stage
        self._submissions = submissions
        self._acts = acts
        self._over = stage.signal()
        self._is_over = False
        self._unsure_ns: dict[str, int] = {}
        """By task: when it was first asked to be put back, where the answer left open whether it was."""

    def stop(self) -> None:
        """Do nothing more."""
        self._is_over = True
        self._over.notify()

    def work(self) -> None:
        """Everything that is planned, in its order; the body of a flow. Dead tasks last: they die when they do."""
        began_ns = self._stage.now_ns()
        client = self._stage.client(OPERATOR)
        try:
            for act in self._acts:
                if isinstance(act.does, RedriveWhenDead):
                    continue
                if self._rest(act.at_s - (self._stage.now_ns() - began_ns) / 1e9):
                    return
                self._do(client, act.does)
            self._rest(self._left_of_schedules_s())
            self._redrive_all(client, [act.does.task for act in self._acts if isinstance(act.does, RedriveWhenDead)])
        finally:
            client.close()

    def _left_of_schedules_s(self) -> float:
        """Until the last occurrence of every schedule is due: the calm must not come before."""
        ends_s = [schedule.until_s or 0.0 for schedule in self._submissions.schedules.values()]
        return max(0.0, max(ends_s, default=0.0) - self._stage.now_ns() / 1e9)

    def _do(self, client: Client, does: Pause | Resume | SetSchedule) -> None:
        """Until it is surely done, or surely cannot be. What an earlier try left open counts from that try."""
        asked_ns = self._stage.now_ns()
        for number in range(TRIES_MAX):
            outcome = self._submissions.tell(client, does, OPERATOR, asked_ns=asked_ns, is_unsure=number > 0)
            if outcome.kind != "info" or self._rest(AGAIN_S):
                return

    def _redrive_all(self, client: Client, tasks: list[str]) -> None:
        until_ns = self._stage.now_ns() + round(DEAD_WITHIN_S * 1e9)
        left = list(tasks)
        while left and self._stage.now_ns() < until_ns:
            left = [task for task in left if self._may_be_redriven(task) and not self._redriven(client, task)]
            if left and self._rest(AGAIN_S):
                return

    def _may_be_redriven(self, task: str) -> bool:
        """False for a task that was surely refused: it never dies."""
        return self._submissions.outcomes.get(task) != "fail"

    def _redriven(self, client: Client, task: str) -> bool:
        """Whether the task was seen dead and was put back. After a try that left that open, its status tells."""
        id_ = self._submissions.ids.get(task)
        if id_ is None:
            return False
        state = client.invoke(ReadStatus(task, id_)).state
        if state != "DEAD" and not (task in self._unsure_ns and state is not None):
            return False
        asked_ns = self._unsure_ns.get(task, self._stage.now_ns())
        kind = client.invoke(Redrive(task, id_)).kind if state == "DEAD" else "ok"
        if kind == "info":
            self._unsure_ns[task] = asked_ns
        elif kind == "ok":
            self._submissions.redriven_ns[task] = asked_ns
        return kind == "ok"

    def _rest(self, seconds: float) -> bool:
        """Let time pass; True: the run is over."""
        return self._over.wait_until(lambda: self._is_over, max(0.0, seconds))
