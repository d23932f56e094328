"""The network between a process and its services: links, the AMQP relay, Toxiproxy proxies."""
