"""Turns into a client process whose standard input and output are one connection to the lab, and standard error another.

Run by the warden, which gives its children no pipes: `python -I -S launch.py SOCKET DIRECTORY PROGRAM ARGUMENT…`. The socket is
named relative to the directory in which this program starts, because the path of a Unix socket has 107 bytes at most.
"""

import os
import socket
import sys

CANNOT_START = 127


def main(address: str, directory: str, argv: "list[str]") -> None:
    """Connect, and become the program."""
    for descriptors in ((0, 1), (2,)):  # in this order: the lab accepts them in the order of their arrival
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
