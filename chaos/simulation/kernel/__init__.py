"""The deterministic kernel: scheduler, clock, entropy, trace."""
