"""One Redis without a replica: for systems that know one address of it. Its round trip is a write that is read back."""

import shutil
from dataclasses import replace
from pathlib import Path

from chaos import binaries
from chaos.deadline import Deadline
from chaos.ports import LOOPBACK
from chaos.services.addresses import RedisAddress, Services
from chaos.services.redis.server import NODE_ARGUMENTS, empty, missing_write, read_version
from chaos.services.server import SingleProcessServer


class PlainRedisServer(SingleProcessServer):
    """One Redis node. Processes reach it through links, because no Sentinel tells them another address."""

    name = "redis"
    ports_needed = 1

    def address(self) -> RedisAddress:
        """Its address."""
        return RedisAddress(LOOPBACK, self.ports[0])

    def provide(self, services: Services) -> Services:
        """The services of a run with its address, without any key."""
        empty(LOOPBACK, self.ports[0])
        return replace(services, redis=self.address())

    def missing(self) -> str:
        """The problem, or "" when a write can be read again."""
        return missing_write(LOOPBACK, self.ports[0])

    def version(self) -> str:
        """From INFO."""
        return read_version(LOOPBACK, self.ports[0])

    def remove_data(self) -> None:
        """Remove the files of a killed node: started again, it holds no key."""
        shutil.rmtree(self._data)

    @property
    def _data(self) -> Path:
        return self.directory / "data"

    def _prepare(self, deadline: Deadline) -> None:
        binaries.require(self.name, "redis-server")

    def _spawn(self) -> None:
        program = binaries.require(self.name, "redis-server")
        self._data.mkdir(exist_ok=True)
        argv = [str(program), "--port", str(self.ports[0]), "--dir", str(self._data), *NODE_ARGUMENTS]
        self._child = self._warden.spawn("redis", argv, log=self.directory / "redis.log", cwd=self._data)
