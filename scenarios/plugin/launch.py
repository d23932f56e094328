"""Becomes a client process: standard input and output are one connection to the lab, standard error is another.

Run by the warden, which gives its children no pipes: `python -I -S launch.py SOCKET DIRECTORY PROGRAM ARGUMENT…`. The socket is
relative to the directory in which this program starts, because the path of a Unix socket has 107 bytes at most.
"""

import os
import socket
import sys

CANNOT_START = 127


def main(address: str, directory: str, argv: "list[str]") -> None:
    """Connect and execute the program."""
    for descriptors in ((0, 1), (2,)):  # in this order: the lab accepts them in order of arrival
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(address)
        for descriptor in descriptors:
            os.dup2(connection.fileno(), descriptor)
    try:
        os.chdir(directory)
        os.execvp(argv[0], argv)  # noqa: S606  starting a program is its purpose
    except OSError as error:
        os.write(2, f"cannot start {argv[0]}: {error.strerror}\n".encode(errors="replace"))
    finally:
        os._exit(CANNOT_START)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
