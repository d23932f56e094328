"""Tokens: a world as one word that can be mailed and typed, for `tasklab replay`. Untrusted input: every size is bounded."""

import base64
import binascii
import math
import zlib
from collections.abc import Iterator

import msgspec

from scenarios.errors import NotAToken, NotTrusted
from scenarios.lookup import is_registered
from scenarios.simulated.system import NETS
from scenarios.simulated.worlds.plan import WorldPlan, call_faults_by_call, strike_of
from scenarios.simulated.worlds.series import base_of

_PLANNED = "world"

TOKEN_CHARACTERS_MAX = 2**20
PLAN_BYTES_MAX = 16 * 2**20
"""Maximum size of the plan in a token, unpacked."""
SEED_DIGITS_MAX = 20
PARTS_MAX = 10_000
"""Maximum number of tasks, of strikes and of failpoints in the plan of a token."""
PROCESSES_MAX = 64
"""Maximum number of processes of one role, and of slots of one worker."""
SECONDS_MAX = 1e6
"""Maximum length of every duration in the plan of a token."""
READ_EVERY_MIN_S = 0.001


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """A world (number `seed` of a series, or `plan`, if given) and its system."""

    series: str
    system: str
    seed: int
    plan: WorldPlan | None = None

    def __str__(self) -> str:
        if self.plan is None:
            return f"{self.series}~{self.system}~{self.seed}"
        packed = zlib.compress(msgspec.json.encode(self), 9)
        return f"{_PLANNED}~{base64.urlsafe_b64encode(packed).decode().rstrip('=')}"


def read_token(text: str) -> Token:
    """Parse a token.

    Raises:
        NotAToken: the text is not a token, or exceeds a limit of tokens.
    """
    if len(text) > TOKEN_CHARACTERS_MAX:
        raise NotAToken(text, f"it has more than {TOKEN_CHARACTERS_MAX:,} characters")
    kind, _, rest = text.partition("~")
    if kind == _PLANNED:
        return _planned(text, rest)
    parts = text.split("~")
    if len(parts) != 3 or not parts[2].isdecimal():
        raise NotAToken(text)
    if len(parts[2]) > SEED_DIGITS_MAX:
        raise NotAToken(text, f"its seed has more than {SEED_DIGITS_MAX} digits")
    return Token(parts[0], parts[1], int(parts[2]))


def check_trusted(token: Token, *, system: str | None = None, scenario: str | None = None) -> None:
    """Check that the code named by a token is registered, or also named by the user; other code must not be imported.

    Raises:
        NotTrusted: the token names a system or a scenario that is neither registered nor the one that the user named.
    """
    named = [("system", token.system, system), ("scenario", base_of(token.series), scenario)]
    named += [("scenario", token.plan.scenario, scenario)] if token.plan else []
    for kind, address, allowed in named:
        if address != allowed and not is_registered(address):
            raise NotTrusted(kind, address)


def options_of(token: Token) -> str:
    """The options that `tasklab replay` needs beside this token, with a space before each; "" if all code is registered."""
    system = "" if is_registered(token.system) else f" --system {token.system}"
    base = base_of(token.series)
    scenario = "" if is_registered(base) else f" --scenario {base}"
    return system + scenario


def _planned(text: str, rest: str) -> Token:
    try:
        packed = base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4))
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(packed, PLAN_BYTES_MAX + 1)
        if len(content) > PLAN_BYTES_MAX:
            raise NotAToken(text, f"its plan has more than {PLAN_BYTES_MAX:,} bytes")
        token = msgspec.json.decode(content, type=Token)
    except (binascii.Error, zlib.error, msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NotAToken(text) from error
    if token.plan is None:
        raise NotAToken(text, "it holds no plan")
    if why := _problem_of(token.plan):
        raise NotAToken(text, why)
    return token


def _problem_of(plan: WorldPlan) -> str:
    """Why the plan makes no world, or an endless one; "" if it is valid."""
    counts = {"tasks": len(plan.tasks), "strikes": len(plan.strikes), "failpoints": len(plan.call_faults)}
    counts["strange messages"] = len(plan.strays)
    for name, count in counts.items():
        if count > PARTS_MAX:
            return f"its plan has {count:,} {name}; {PARTS_MAX:,} are the most"
    for task in plan.tasks:
        if task.payload.get("task") != task.task:
            return f"its plan has a task {task.task[:60]!r} whose payload does not name it"
    for name, size in msgspec.structs.asdict(plan.sizes).items():
        if not 0 <= size <= PROCESSES_MAX:
            return f"its plan has {name} = {size}; it is a number from 0 to {PROCESSES_MAX}"
    if plan.without and plan.without not in NETS:
        return f"its plan is without {plan.without[:60]!r}; there are {', '.join(NETS)}"
    if any(ord(letter) > 255 for stray in plan.strays for letter in stray.body):
        return "its plan has a strange message with a letter that is no byte"
    if plan.read_every_s and plan.read_every_s < READ_EVERY_MIN_S:
        return f"its plan has read_every_s = {plan.read_every_s!r}; the least is {READ_EVERY_MIN_S}"
    for seconds in _durations(plan):
        if not (math.isfinite(seconds) and abs(seconds) <= SECONDS_MAX):
            return f"its plan has a duration of {seconds!r} s; {SECONDS_MAX:,.0f} are the most"
    try:
        for strike in plan.strikes:
            strike_of(strike)
        call_faults_by_call(plan)
    except (KeyError, TypeError, ValueError) as error:
        return f"its plan has a fault that does not exist: {error}"
    return ""


def _durations(plan: WorldPlan) -> Iterator[float]:
    """Every duration, instant and rate in the plan."""
    for task in plan.tasks:
        yield from (task.at_s, task.tries, task.cancel_s or 0.0, task.deadline_s or 0.0)
    for strike in plan.strikes:
        yield from (strike.at_s or 0.0, strike.lasts_s or 0.0)
        yield from (
            value for value in (*strike.aim.values(), *strike.trigger.values()) if isinstance(value, int | float)
        )
    yield from (fault.lasts_s for fault in plan.call_faults)
    yield from (stray.at_s for stray in plan.strays)
    for skew in plan.skews.values():
        yield from skew
    yield from (plan.delays.slow_s, plan.delays.slow_share, plan.read_every_s, plan.patience_s)
