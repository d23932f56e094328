"""What an HTTP answer means for its request: done, surely not done, or unknown. Pure; for clients and load generators alike."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DETAIL_CHARS = 200
TIMEOUT_S = 5.0
"""Of connecting, sending and each wait for a part of the answer: every client of the lab waits this long."""

TOKEN_FILE = "api-token"  # noqa: S105
"""File in the directory of the services with the bearer token of the API; a system whose API asks for none writes no such file."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """How a request ended, in the words of a history: ok, fail (it surely did not happen) or info (it may have).

    `said`: the JSON object that came with an ok; empty where there was none.
    """

    kind: Literal["ok", "fail", "info"]
    detail: str | None = None
    said: Mapping[str, object] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """A field of what was said, as text."""
        value = self.said.get(name)
        return None if value is None else str(value)


def answer_of(status: int, body: bytes) -> HttpAnswer:
    """2xx: done. 4xx: not done. 5xx: not done only if the answer is marked `definite`; else it may have been done."""
    said = _parsed(body)
    if 200 <= status < 300:
        return HttpAnswer("ok", said=said)
    detail = f"{status} {said.get('error', '')}"[:DETAIL_CHARS]
    surely_not = 400 <= status < 500 or said.get("definite") is True
    return HttpAnswer("fail" if surely_not else "info", detail)


def no_answer(why: str, *, definite: bool) -> HttpAnswer:
    """No answer came; `definite`: because nothing was sent."""
    return HttpAnswer("fail" if definite else "info", why[:DETAIL_CHARS])


def _parsed(body: bytes) -> Mapping[str, object]:
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
