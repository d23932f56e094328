"""What stands between a process and its services: links, relays that know AMQP, Toxiproxy."""
