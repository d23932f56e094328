"""The reference task system: MySQL for facts, Redis for fast state, RabbitMQ for delivery. Knows nothing of the lab."""
