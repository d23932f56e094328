"""Users of the API: static bearer tokens per user from a file, compared in constant time. Tokens are kept as digests only."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reference_impl.http.models import NAME
from reference_impl.settings import Settings, SettingsInvalid

TOKEN_CHARACTERS_MIN = 16
USERS_MAX = 10_000
OPERATOR = "operator"
_SCHEME = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a request. An operator may read, cancel and redrive the tasks of all users, and submit in their names."""

    user: str
    is_operator: bool = False

    def may_touch(self, user: str) -> bool:
        """Whether the caller may read and change the tasks of this user."""
        return self.is_operator or self.user == user


UNAUTHENTICATED = Caller("", is_operator=True)
"""Every caller, if authentication is off."""


class Users:
    """The users by the digests of their tokens."""

    def __init__(self, by_digest: Mapping[bytes, Caller]) -> None:
        self._by_digest = dict(by_digest)

    def find(self, authorization: str | None) -> Caller | None:
        """The user whose token the header `Authorization: Bearer TOKEN` holds, or None."""
        header = authorization or ""
        if header[: len(_SCHEME)].lower() != _SCHEME:
            return None
        given = digest_of(header[len(_SCHEME) :].strip())
        found = None
        for digest, caller in self._by_digest.items():  # no early exit: the time must not depend on the match
            if hmac.compare_digest(digest, given):
                found = caller
        return found


def digest_of(token: str) -> bytes:
    """SHA-256 of the token. Tokens are long and random, so no slow hash is needed."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def users_of(settings: Settings) -> Users | None:
    """The users of these settings; None: authentication is off.

    Raises:
        SettingsInvalid: no users file is named, or it is not valid; the message names the line, never a token.
    """
    if settings.authentication == "off":
        return None
    if not settings.users_file:
        why = "users_file must name the file of users and tokens (or set authentication to off: every client may do everything)"
        raise SettingsInvalid(f"REFERENCE_* variables: {why}")
    try:
        lines = Path(settings.users_file).read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"users_file cannot be read: {type(error).__name__}") from error
    return Users(_by_digest(lines))


def _by_digest(lines: list[str]) -> dict[bytes, Caller]:
    found: dict[bytes, Caller] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) not in (2, 3) or not re.fullmatch(NAME, words[0]) or words[2:] not in ([], [OPERATOR]):
            raise SettingsInvalid(f"users_file, line {number}: not of the form USER TOKEN or USER TOKEN {OPERATOR}")
        if len(words[1]) < TOKEN_CHARACTERS_MIN:
            raise SettingsInvalid(f"users_file, line {number}: a token has {TOKEN_CHARACTERS_MIN} characters or more")
        digest = digest_of(words[1])
        if digest in found:
            raise SettingsInvalid(f"users_file, line {number}: two users have the same token")
        found[digest] = Caller(words[0], is_operator=len(words) == 3)
    if not 0 < len(found) <= USERS_MAX:
        raise SettingsInvalid(f"users_file holds {len(found)} tokens; it must hold 1 to {USERS_MAX}")
    return found
