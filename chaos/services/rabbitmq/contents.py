"""Every message of the queues of a run's virtual host. Reading delivers them: they go back with the mark `redelivered`."""

from collections.abc import Iterable, Iterator

from pamqp.exceptions import PAMQPException

from chaos.deadline import Deadline
from chaos.errors import ServiceUnavailable
from chaos.services.addresses import RabbitmqAddress
from chaos.services.contents import CONTENTS_MAX, TIMEOUT_S, ServiceItem
from chaos.services.rabbitmq.amqp_client import AmqpClient


def read_contents(address: RabbitmqAddress, queues: Iterable[str]) -> Iterator[ServiceItem]:
    """Queue by queue, headers and body of each message; the first `CONTENTS_MAX` of each. Consumers must have gone.

    Raises:
        ServiceUnavailable: the broker does not answer.
    """
    try:
        for queue in queues:
            with AmqpClient(address, Deadline.after(TIMEOUT_S)) as client:
                for _ in range(CONTENTS_MAX):
                    message = client.peek(queue)
                    if message is None:
                        break
                    again = ", delivered before" if message.redelivered else ""
                    text = f"{message.headers} {message.body.decode(errors='replace')}"
                    yield ServiceItem(f"rabbitmq queue {queue}{again}", text)
    except (OSError, PAMQPException) as error:
        raise ServiceUnavailable("rabbitmq", f"its messages cannot be read: {error}") from error
