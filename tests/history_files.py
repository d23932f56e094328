"""Histories as files, for the tests of what reads them."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from scenarios.record.events import Event


def write_by_actor(events: Sequence[Event], directory: Path) -> list[Path]:
    """One file an actor, as a run leaves them."""
    by_actor: dict[str, list[bytes]] = defaultdict(list)
    for event in events:
        by_actor[event.actor].append(msgspec.json.encode(event) + b"\n")
    files = []
    for actor, lines in by_actor.items():
        file = directory / f"history.{actor}.jsonl"
        file.write_bytes(b"".join(lines))
        files.append(file)
    return sorted(files)
