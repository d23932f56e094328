"""RabbitMQ as a service of the lab."""
