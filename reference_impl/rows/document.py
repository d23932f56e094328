"""JSON documents as the database stores them."""

import json

DEPTH_MAX = 64
"""Maximum JSON nesting depth; well below Python's recursion limit, so parsing cannot fail depending on the caller's stack depth."""


def document(value: object) -> str:
    """The JSON text of a value: canonical, and ASCII only, so that no character set on its way can reject it.

    Raises:
        ValueError: NaN or infinity, nested deeper than `DEPTH_MAX`, or an unpaired surrogate.
        TypeError: not a JSON value.
    """
    if _is_deeper(value, DEPTH_MAX):
        raise ValueError(f"nested deeper than {DEPTH_MAX} levels")
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    if "\\ud" in text:  # possibly a surrogate, which UTF-8 cannot encode
        json.dumps(value, ensure_ascii=False).encode()
    return text


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, (dict, list, tuple)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in parts)
