"""Safe embedding of text in the one file: inlined JSON, inlined assets, and the content security policy that forbids everything else."""

import base64
import hashlib
import re
from pathlib import Path

import msgspec
from markupsafe import Markup

HERE = Path(__file__).parent

# `<` could end the script element, `&` could begin an entity, and old engines treat U+2028 and U+2029 as line ends.
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})

# Invisible characters that change the text beside them: controls (except line feed and tab), and marks that change the direction of
# reading; and halves of surrogate pairs, which cannot be encoded. A task's name must not be able to rearrange the words of a verdict.
_INVISIBLE = {
    code: f"\\u{code:04x}"
    for code in (
        *range(9),
        *range(11, 32),
        *range(127, 160),
        0x061C,
        0x200E,
        0x200F,
        *range(0x2028, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    )
}


# A full path of three parts or more; not the path of a URL after its host, nor a path of an API such as /tasks/7.
_DIRECTORIES = re.compile(r"(?<![\w:/.+=-])/(?:[^\s/'\"<>]+/){2,}(?=[^\s/])")


def visible(text: str) -> str:
    """A text with invisible characters written as codes (`\\u202e`), so that they cannot move text or change its direction."""
    return text.translate(_INVISIBLE)


def printable(value: object) -> object:
    """A text with invisible characters written as codes and every full path shortened to its last name; any other value unchanged.

    The page is made to be shared: it must not show the directories of the machine that the lab ran on.
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return _DIRECTORIES.sub("…/", visible(value))


def script_json(value: object) -> Markup:
    """A value as JSON that is safe inside a script element of type application/json."""
    return Markup(msgspec.json.encode(value).decode().translate(_ESCAPES))  # noqa: S704 (escaped for where it stands)


def asset(name: str) -> Markup:
    """The content of one of our own files: trusted, with the line ends that a browser uses for the hash."""
    return Markup((HERE / name).read_text(encoding="utf-8").replace("\r\n", "\n"))  # noqa: S704 (ours)


def content_security_policy(script: str, style: str) -> str:
    """A policy that allows this script and this style, and no request, form, frame or base."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
