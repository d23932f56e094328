"""Waiting between retries while a service is down, without repeating the same log line."""

from dataclasses import dataclass, field

import structlog

from reference_impl.ports import Shutdown

log = structlog.get_logger()

RETRY_DELAY_S = 0.2


@dataclass(slots=True)
class Backoff:
    """Waits a constant delay before each retry of one operation; `event` is the log event."""

    shutdown: Shutdown
    event: str
    _logged: str = field(default="", init=False)

    def wait(self, error: Exception) -> bool:
        """Wait before the next retry; return whether shutdown has been requested."""
        # Several retries a second, possibly for hours: log an error only when it differs from the previous one.
        if str(error) != self._logged:
            self._logged = str(error)
            log.warning(self.event, why=self._logged)
        return self.shutdown.wait(RETRY_DELAY_S)

    def reset(self) -> None:
        """The operation succeeded: log the next error, even if it is the same."""
        self._logged = ""
