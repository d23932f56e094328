"""The endless loops of the processes: worker, relay, rescuer, heartbeat."""
