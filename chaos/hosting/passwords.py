"""Texts without the passwords in them: the last words of a program may hold its configuration, and are printed, stored and reported."""

import re

HIDDEN = "***"
_IN_URLS = re.compile(r"(://[^\s/:@'\"]*):[^\s@]+@")
_NAMED = re.compile(
    r"(?i)\b((?:password|passwd|pwd|secret|token|api_key)['\"]?\s*[=:]\s*)(?!None\b)('[^']*'|\"[^\"]*\"|[^\s,;)}\]]+)"
)


def without_passwords(text: str) -> str:
    """The text, with the password of each URL and the value of each setting named as one replaced."""
    return _NAMED.sub(rf"\1{HIDDEN}", _IN_URLS.sub(rf"\1:{HIDDEN}@", text))
