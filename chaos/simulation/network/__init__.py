"""The simulated network: lines, delays, call faults."""
