"""Maps an HTTP answer to the outcome of its request: done, surely not done, or unknown. Pure; used by clients and load generators."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

DETAIL_CHARS = 200
TIMEOUT_S = 5.0
"""Timeout of all HTTP clients of the lab, for connecting, sending and each wait for a part of the answer."""

TOKEN_FILE = "api-token"  # noqa: S105
"""File with the bearer token of the API, in the directory of the services. A system whose API needs no token does not write it."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """How a request ended, as in a history: ok, fail (it surely did not happen) or info (it may have).

    `content`: the JSON object in the body of an ok; empty if there was none.
    """

    kind: Literal["ok", "fail", "info"]
    detail: str | None = None
    content: Mapping[str, object] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """A field of the content, as text."""
        value = self.content.get(name)
        return None if value is None else str(value)


def answer_of(status: int, body: bytes) -> HttpAnswer:
    """2xx: done. 4xx: not done. 5xx: not done only if the answer is marked `definite`; else it may have been done."""
    content = _parsed(body)
    if 200 <= status < 300:
        return HttpAnswer("ok", content=content)
    detail = f"{status} {content.get('error', '')}"[:DETAIL_CHARS]
    surely_not = 400 <= status < 500 or content.get("definite") is True
    return HttpAnswer("fail" if surely_not else "info", detail)


def no_answer(why: str, *, definite: bool) -> HttpAnswer:
    """No answer came; `definite`: because nothing was sent."""
    return HttpAnswer("fail" if definite else "info", why[:DETAIL_CHARS])


def _parsed(body: bytes) -> Mapping[str, object]:
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
