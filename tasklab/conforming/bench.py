"""What the checks of a running system share: its client, the lab's view of its workers, and patience."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scenarios.contract.capabilities import OWN_BODY
from scenarios.contract.system import (
    Account,
    Accountable,
    Client,
    Outcome,
    ReadStatus,
    Submit,
    capabilities_of,
    pace_of,
    policy_of,
)
from scenarios.experiment.outside import Outside
from scenarios.experiment.plan import of_own_body
from scenarios.experiment.run import Experiment
from scenarios.experiment.submissions import Submissions
from scenarios.real.stage import RealStage
from scenarios.record.events import FINAL_STATES
from tasklab.conforming.findings import WordFindings

ACTOR = "conform"
PATIENCE_MIN_S = 8.0
PATIENCE_MAX_S = 60.0
LOOK_S = 0.05


@dataclass(frozen=True, slots=True)
class Bench:
    """A running system on the bench. `patience_s`: how long something may take that the system does by itself."""

    stage: RealStage
    experiment: Experiment
    findings: WordFindings
    client: Client
    patience_s: float

    @property
    def outside(self) -> Outside:
        """Counts of what the workers did."""
        return self.experiment.outside

    @property
    def submissions(self) -> Submissions:
        """Records submissions and their outcomes."""
        return self.experiment.submissions

    @property
    def capabilities(self) -> frozenset[str]:
        """What the system says that it can do."""
        return capabilities_of(self.stage.system)

    @property
    def has_own_body(self) -> bool:
        """Whether its tasks run their own code (--keep-body), which fails and returns as it likes."""
        return OWN_BODY in self.capabilities

    @property
    def keeps_account(self) -> bool:
        """Whether it lists its tasks."""
        return isinstance(self.stage.system, Accountable)

    def submit(self, task: str, payload: Mapping[str, Any] | None = None, **fields: Any) -> Outcome:
        """Submit a task once. Key and user are its name, unless `fields` has others: no user comes to a limit."""
        content = {"task": task, "work_s": 0.02, **(payload or {})}
        submit = replace(Submit(task, content, user=task, key=task), **fields)
        if self.has_own_body:
            submit = of_own_body(submit)
        return self.submissions.submit(self.client, submit, ACTOR)

    def submit_until_accepted(self, task: str) -> Outcome:
        """Submit until it is acknowledged or may be, as long as patience lasts."""
        outcomes = [Outcome("fail")]

        def is_accepted() -> bool:
            outcomes.append(self.submit(task))
            return outcomes[-1].kind != "fail"

        self.wait(is_accepted)
        return outcomes[-1]

    def status(self, task: str) -> Outcome:
        """Its status, now; `fail` if the system has none to read."""
        id_ = self.submissions.ids.get(task)
        if "status" not in self.capabilities or id_ is None:
            return Outcome(
                "fail", detail="its submission was answered without an id" if id_ is None else "no status is stated"
            )
        return self.client.invoke(ReadStatus(task, id_))

    def account(self) -> Account:
        """The system's lists, now.

        Raises:
            RunFailed: the plug-in failed.
        """
        return self.stage.account() or Account()

    def without_effect(self, tasks: Collection[str], *, within_s: float | None = None) -> list[str]:
        """The tasks that have no effect when patience ends."""
        self.wait(lambda: not set(tasks).difference(self.outside.tasks_with_effect()), within_s=within_s)
        return sorted(set(tasks).difference(self.outside.tasks_with_effect()))

    def has_ended(self, task: str) -> bool:
        """Whether the system says that it has ended, in its account or by its status."""
        account = self.account()
        lists = (account.done, account.dead, account.cancelled, account.expired)
        return any(task in (names or ()) for names in lists) or self.status(task).state in FINAL_STATES

    def wait(self, is_so: Callable[[], bool], *, within_s: float | None = None) -> bool:
        """Look until something is so, or patience ends; whether it is.

        Raises:
            RunFailed: the plug-in is gone.
        """
        deadline_ns = self.stage.now_ns() + round((self.patience_s if within_s is None else within_s) * 1e9)
        while not (met := is_so()) and self.stage.now_ns() < deadline_ns:
            self.stage.check_plugin()
            self.stage.sleep(LOOK_S)
        return met

    def seconds(self) -> str:
        """The patience, for a sentence."""
        return f"{self.patience_s:g} s"


def patience_of(stage: RealStage) -> float:
    """Twice the longest rest that the system states, or its budget, within bounds."""
    stated_s = max(2 * pace_of(stage.system).quiet_s, policy_of(stage.system).budget_s or 0.0)
    return min(max(PATIENCE_MIN_S, stated_s), PATIENCE_MAX_S)
