"""The HTTP API: `service` does the work of each request, `routes` maps it to HTTP."""
