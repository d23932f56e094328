"""The keys of a Redis, as faults strike them: counted, flushed, pushed out of memory. Not counted are those of the lab."""

from contextlib import closing

from chaos.services.redis.server import HEALTH_KEY, client

BALLAST = "tasklab:ballast"
"""Prefix of the keys by which the lab fills a memory."""
BALLAST_BYTES = 200_000
ROOM_BYTES = 20 * BALLAST_BYTES
"""Room that is left when eviction is switched on; the first ballast fills it."""
BALLAST_EXPIRY_S = 600
"""The ballast has an expiry, so that it may be evicted by every policy."""


def count_keys(host: str, port: int) -> int:
    """The number of keys in all databases, without those of the lab."""
    with closing(client(host, port)) as server:
        counts = [int(database["keys"]) for database in server.info("keyspace").values()]
        return sum(counts) - bool(server.exists(HEALTH_KEY))


def flush(host: str, port: int) -> int:
    """Remove every key; the number of keys that there were."""
    with closing(client(host, port)) as server:
        commands = server.pipeline(transaction=True)
        commands.info("keyspace")
        commands.exists(HEALTH_KEY)
        commands.flushall()
        keyspace, of_the_lab, _ = commands.execute()
        return sum(int(database["keys"]) for database in keyspace.values()) - int(of_the_lab)


class FullMemory:
    """A Redis whose memory is filled with ballast until it evicts other keys by `policy`."""

    def __init__(self, host: str, port: int, policy: str) -> None:
        self.address = host, port
        self.policy = policy
        self._written = 0
        self._evicted_before = 0

    def begin(self) -> None:
        """Leave room for some ballast only, and evict from then on."""
        with closing(client(*self.address)) as server:
            self._evicted_before = int(server.info("stats")["evicted_keys"])
            server.config_set("maxmemory-policy", self.policy)
            server.config_set("maxmemory", int(server.info("memory")["used_memory"]) + ROOM_BYTES)

    def fill(self) -> None:
        """Write one more key of ballast. A server that cannot evict enough for it refuses it."""
        with closing(client(*self.address)) as server:
            server.set(f"{BALLAST}:{self._written}", "x" * BALLAST_BYTES, ex=BALLAST_EXPIRY_S)
            self._written += 1

    def evicted(self) -> int:
        """The number of keys evicted so far that are no ballast."""
        names = [f"{BALLAST}:{number}" for number in range(self._written)]
        with closing(client(*self.address)) as server:
            left = int(server.exists(*names)) if names else 0
            total = int(server.info("stats")["evicted_keys"]) - self._evicted_before
            return max(0, total - (self._written - left))

    def end(self) -> None:
        """Remove the ballast and the limit."""
        with closing(client(*self.address)) as server:
            for number in range(self._written):
                server.unlink(f"{BALLAST}:{number}")
            server.config_set("maxmemory", 0)
            server.config_set("maxmemory-policy", "noeviction")
