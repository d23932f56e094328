"""The HTTP API: `service` is its work, `routes` the HTTP around it."""
