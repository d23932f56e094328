"""The lab's access to the reference's API: an operator's token, generated for each directory of services."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from chaos.environment import Services
from scenarios.contract.http_answers import TOKEN_FILE

USERS_FILE = "users"


def token_of(services: Services) -> str:
    """The lab's token for these services; generated at the first call."""
    file = services.directory / TOKEN_FILE
    if not file.exists():
        _write_once(file, secrets.token_hex(24))
    return file.read_text(encoding="ascii")


def users_file_of(services: Services) -> Path:
    """The file of users for the API, with the lab's token; written at the first call."""
    file = services.directory / USERS_FILE
    if not file.exists():
        _write_once(file, f"lab {token_of(services)} operator\n")
    return file


def _write_once(file: Path, content: str) -> None:
    """Write the file atomically, unless it exists: several threads may call this at once."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(content)
    with suppress(FileExistsError):
        file.hardlink_to(draft)
    draft.unlink()
