"""How a loop waits for what another part of the world must first mend: said once for each reason, tried again and again."""

from dataclasses import dataclass, field

import structlog

from reference_impl.ports import Stop

log = structlog.get_logger()

PATIENCE_S = 0.2
"""Between two tries."""


@dataclass(slots=True)
class Waiting:
    """For one thing; `what` is how the log calls it."""

    stop: Stop
    what: str
    _told: str = field(default="", init=False)

    def rest(self, error: Exception) -> bool:
        """Rest before the next try; whether it is time to end."""
        # Several times a second, perhaps for hours: the log is for what is new.
        if str(error) != self._told:
            self._told = str(error)
            log.warning(self.what, why=self._told)
        return self.stop.wait(PATIENCE_S)

    def is_over(self) -> None:
        """It was mended: the next time is news again."""
        self._told = ""
