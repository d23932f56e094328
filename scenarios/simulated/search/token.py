"""A world in one word, that can be mailed and typed: what `tasklab replay` takes."""

import base64
import binascii
import zlib

import msgspec

from scenarios.errors import NotAToken
from scenarios.simulated.worlds.plan import WorldPlan

_PLANNED = "world"


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """A world: the `seed`-th of a series, or, where there is a `plan`, that one; and the system that is in it."""

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
    """The token that was written so.

    Raises:
        NotAToken: it is none.
    """
    kind, _, rest = text.partition("~")
    if kind == _PLANNED:
        try:
            packed = base64.urlsafe_b64decode(rest + "=" * (-len(rest) % 4))
            return msgspec.json.decode(zlib.decompress(packed), type=Token)
        except (binascii.Error, zlib.error, msgspec.DecodeError, ValueError) as error:
            raise NotAToken(text) from error
    parts = text.split("~")
    if len(parts) != 3 or not parts[2].isdecimal():
        raise NotAToken(text)
    return Token(parts[0], parts[1], int(parts[2]))
