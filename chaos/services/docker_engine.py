"""The Docker daemon of this machine, through testcontainers: the only module that imports it, or Docker's SDK.

testcontainers provides the connection (contexts, DOCKER_HOST, registry logins) and the labels. Its container classes are not
used: they judge readiness by a log line or a ping, their ports listen on every interface and change at every restart, and
two threads start their reaper, an image of its own that gets the daemon's socket, twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from chaos.deadline import Deadline
from chaos.errors import ChaosError
from chaos.hosting.identity import LabIdentity
from chaos.ports import LOOPBACK

if TYPE_CHECKING:
    from docker.models.containers import Container as DockerContainer
    from testcontainers.core.docker_client import DockerClient

LAB_LABEL = "tasklab.lab"
"""On every container of a lab: its `LabIdentity`."""

ANSWER_TIMEOUT_S = 60
REMOVED = (404, 409)
"""Status codes of the daemon: the container is gone, or another lab is removing it at this moment."""

SDK = "pip install 'tasklab[containers]'"
DAEMON = "install Docker, start it (systemctl start docker), or let this user reach it (usermod -aG docker USER)"


class Container:
    """A container that this lab has created. Every method raises ChaosError if the daemon reports an error or does not answer."""

    def __init__(self, container: "DockerContainer") -> None:
        self._container = container

    @property
    def name(self) -> str:
        """As `docker ps` shows it."""
        return str(self._container.name)

    def start(self) -> None:
        """Start it, or start it again on the same ports and data."""
        with _explained(f"container {self.name} does not start"):
            self._container.start()

    def kill(self) -> None:
        """SIGKILL to its first process; the kernel kills the others with it."""
        with _explained(f"container {self.name} cannot be killed"):
            self._container.kill()

    def pause(self) -> None:
        """Freeze all its processes."""
        with _explained(f"container {self.name} cannot be paused"):
            self._container.pause()

    def resume(self) -> None:
        """Let them go on."""
        with _explained(f"container {self.name} cannot be resumed"):
            self._container.unpause()

    def is_paused(self) -> bool:
        """Whether they are frozen."""
        with _explained(f"container {self.name} is gone"):
            self._container.reload()
        return bool(self._container.attrs["State"]["Paused"])

    def exit_code(self) -> int | None:
        """How it ended (137: by SIGKILL), or None while it runs."""
        with _explained(f"container {self.name} is gone"):
            self._container.reload()
        state = self._container.attrs["State"]
        return None if state["Running"] else int(state["ExitCode"])

    def log_tail(self, lines_max: int = 15) -> str:
        """The last lines of its output."""
        with _explained(f"container {self.name} has no log"):
            return bytes(self._container.logs(tail=lines_max)).decode(errors="replace").rstrip()

    def output_of(self, script: str) -> str:
        """The output of a shell script that runs in the container."""
        with _explained(f"container {self.name} cannot run a command"):
            return bytes(self._container.exec_run(["sh", "-c", script], stderr=False).output).decode(errors="replace")

    def remove(self) -> None:
        """Kill it, and remove it with its data. Idempotent."""
        from docker.errors import APIError

        with _explained(f"container {self.name} cannot be removed"):
            try:
                self._container.remove(force=True, v=True)
            except APIError as error:
                if error.status_code not in REMOVED:
                    raise


class DockerEngine:
    """A connection to the daemon. Thread-safe."""

    def __init__(self, client: "DockerClient") -> None:
        self._client = client
        self._lab = LabIdentity.own()

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._client.client.close()

    def version(self) -> str:
        """Of the daemon."""
        with _explained("the Docker daemon does not answer"):
            return str(self._client.client.version()["Version"])

    def has_image(self, image: str) -> bool:
        """Whether the image is on this machine already."""
        from docker.errors import ImageNotFound

        with _explained(f"the Docker daemon does not say whether it has the image {image}"):
            try:
                self._client.client.images.get(image)
            except ImageNotFound:
                return False
        return True

    def pull(self, image: str, deadline: Deadline) -> None:
        """Pull an image from its registry."""
        repository, tag = _split(image)
        trouble = f"the image {image} is not on this machine, and cannot be pulled"
        with _explained(trouble):
            for progress in self._client.client.api.pull(repository, tag=tag, stream=True, decode=True):
                if "error" in progress:
                    raise ChaosError(f"{trouble}: {progress['error']}")
                if deadline.is_over():
                    raise ChaosError(f"{trouble} within {deadline.timeout_s:g} s")

    def create(
        self,
        image: str,
        name: str,
        *,
        command: Sequence[str],
        environment: Mapping[str, str],
        ports: Mapping[int, int],
    ) -> Container:
        """A container, not yet started, of an image that is on this machine. `ports`: from its ports to loopback ports."""
        with _explained(f"no container of the image {image} can be created"):
            made = self._client.create(
                image,
                name=name,
                command=list(command),
                environment=dict(environment),
                ports={f"{inner}/tcp": (LOOPBACK, outer) for inner, outer in ports.items()},
                labels={LAB_LABEL: str(self._lab)},
                network="bridge",  # explicit: else testcontainers guesses a network if the lab is in a container
            )
        return Container(made)

    def names(self) -> list[str]:
        """Names of the containers of all labs, running or not."""
        return sorted(str(container.name) for container in self._labelled())

    def remove_orphans(self) -> list[str]:
        """Remove the containers of labs that have ended without removing them; returns their names."""
        removed = []
        for container in self._labelled():
            lab = LabIdentity.parse(container.labels[LAB_LABEL])
            if lab is not None and lab.is_dead():
                Container(container).remove()
                removed.append(str(container.name))
        return removed

    def _labelled(self) -> "list[DockerContainer]":
        with _explained("the Docker daemon does not list its containers"):
            found = self._client.client.containers.list(all=True, filters={"label": LAB_LABEL}, ignore_removed=True)
        return list(found)


def connect() -> DockerEngine:
    """A connection to the daemon of this machine.

    Raises:
        ChaosError: the package is not installed, or no daemon on this machine answers; the message says what to do.
    """
    try:
        from testcontainers.core.docker_client import DockerClient
    except ModuleNotFoundError as error:
        raise ChaosError(f"containers need testcontainers, which is not installed: {SDK}") from error
    with _explained("containers need a Docker daemon, but none answers", DAEMON):
        client = DockerClient(timeout=ANSWER_TIMEOUT_S)
        client.client.ping()
    host = urlsplit(client.client.api.base_url).hostname
    if host not in ("localhost", LOOPBACK, "::1"):
        client.client.close()
        raise ChaosError(f"containers need the Docker daemon of this machine, but DOCKER_HOST points to {host}")
    return DockerEngine(client)


def _split(image: str) -> tuple[str, str | None]:
    """Repository and tag for the SDK, which without a tag would pull all tags of the image."""
    if "@" in image:
        return image, None
    repository, colon, tag = image.rpartition(":")
    return (repository, tag) if colon and "/" not in tag else (image, "latest")


@contextmanager
def _explained(trouble: str, remedy: str = "") -> Iterator[None]:
    """Turn the errors of the SDK and of its HTTP client into one sentence."""
    from docker.errors import DockerException

    try:
        yield
    except (DockerException, OSError) as error:
        why: Any = getattr(error, "explanation", None) or error
        raise ChaosError(f"{trouble} ({str(why).strip()})" + (f"; {remedy}" if remedy else "")) from error
