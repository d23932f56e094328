"""Standard output and standard error that outlive their reader: `tasklab check … | head -1` ends with the verdict's exit code."""

import io
import os
import sys
from pathlib import Path
from typing import TextIO


class PipeSafeStream(io.TextIOWrapper):
    """A text stream that discards its output after its reader has gone, instead of raising `BrokenPipeError`."""

    reader_has_gone = False

    def write(self, text: str, /) -> int:
        """As any stream; unencodable characters are escaped."""
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
        """Redirect the file descriptor to /dev/null, also for the buffered rest."""
        self.reader_has_gone = True
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)


def make_streams_pipe_safe() -> None:
    """Replace both streams of this process; a stream closed at the start is replaced by one to /dev/null."""
    sys.stdout, sys.stderr = _pipe_safe(sys.stdout, line_buffering=False), _pipe_safe(sys.stderr, line_buffering=True)


def _pipe_safe(stream: TextIO | None, *, line_buffering: bool) -> TextIO:
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    buffer = getattr(stream, "buffer", None)
    if buffer is None:  # a stream installed by a test
        return stream
    line_buffering = line_buffering or stream.isatty()
    return PipeSafeStream(buffer, encoding=stream.encoding, errors="backslashreplace", line_buffering=line_buffering)


def discard_output() -> None:
    """Discard the buffered standard output: it cannot be written, and Python would try again at its end."""
    if isinstance(sys.stdout, PipeSafeStream):
        sys.stdout.discard()


def reader_has_gone() -> bool:
    """Whether the reader of standard output has gone."""
    return isinstance(sys.stdout, PipeSafeStream) and sys.stdout.reader_has_gone
