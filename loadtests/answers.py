"""What an HTTP answer says of a submission: it is accepted, it surely is not, or nobody knows. Pure."""

import json
from dataclasses import dataclass
from typing import Literal

DETAIL_CHARS = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """How a submission ended, in the words of a history: ok, fail (it surely did not happen) or info (it may have)."""

    kind: Literal["ok", "fail", "info"]
    id: str | None = None
    detail: str | None = None


def answer_of(status: int, body: bytes) -> Answer:
    """2xx is an acceptance; 4xx is a refusal; 5xx is one only if it says so (`definite`): behind all else the task may have got in."""
    said = _parsed(body)
    if 200 <= status < 300:
        id_ = said.get("id")
        return Answer("ok", id=None if id_ is None else str(id_))
    detail = f"{status} {said.get('error', '')}"[:DETAIL_CHARS]
    surely_not = 400 <= status < 500 or said.get("definite") is True
    return Answer("fail" if surely_not else "info", detail=detail)


def no_answer(why: str, *, definite: bool) -> Answer:
    """Nobody answered; `definite`: because nothing was sent."""
    return Answer("fail" if definite else "info", detail=why[:DETAIL_CHARS])


def _parsed(body: bytes) -> dict[str, object]:
    try:
        said = json.loads(body)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
