"""Parsing of the URLs of external services."""

from urllib.parse import SplitResult, urlsplit

from chaos.errors import ChaosError


def split_url(url: str, schemes: tuple[str, ...]) -> SplitResult:
    """The parts of a URL.

    Raises:
        ChaosError: it is not valid; the message does not quote it, because it may hold a password.
    """
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError as error:
        raise ChaosError(f"the port of a {schemes[0]} URL is not a number") from error
    if parts.scheme not in schemes or not parts.hostname or port == 0:
        raise ChaosError(f"not a URL of the form {schemes[0]}://[user:password@]host[:port]")
    return parts
