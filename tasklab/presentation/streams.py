"""Standard output and standard error that outlive their reader: `tasklab check … | head -1` ends with the verdict's exit code."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO


class PatientStream(io.TextIOWrapper):
    """A text stream that discards its output after its reader has gone, instead of raising `BrokenPipeError`."""

    reader_has_gone = False

    def write(self, text: str, /) -> int:
        """As any stream; a character that the encoding lacks is escaped."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self.discard()
            return len(text)

    def flush(self) -> None:
        """As any stream."""
        try:
            super().flush()
        except BrokenPipeError:
            self.discard()

    def discard(self) -> None:
        """Lead the file descriptor nowhere: the rest of the buffers goes there, too."""
        self.reader_has_gone = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def make_patient() -> None:
    """Replace both streams of this process; a stream that is closed from the start is replaced by one that leads nowhere."""
    sys.stdout, sys.stderr = _patient(sys.stdout, line_buffering=False), _patient(sys.stderr, line_buffering=True)


def _patient(stream: TextIO | None, *, line_buffering: bool) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a stream that a test has put there
        return stream
    line_buffering = line_buffering or stream.isatty()
    return PatientStream(buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=line_buffering)


def say_no_more() -> None:
    """Discard what standard output still holds: it cannot be written, and Python would try again when it ends."""
    if isinstance(sys.stdout, PatientStream):
        sys.stdout.discard()


def reader_has_gone() -> bool:
    """Whether standard output leads nowhere any more."""
    return isinstance(sys.stdout, PatientStream) and sys.stdout.reader_has_gone
