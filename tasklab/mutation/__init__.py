"""Generated mutants of the reference: small changes of its source, each tried in simulated worlds (docs/mutants.md)."""
