"""The endless loops: worker, relay, rescuer, heartbeat."""
