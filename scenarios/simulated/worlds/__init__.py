"""Which simulated worlds there are: planned by the catalogue, by a seed, by crash point."""
