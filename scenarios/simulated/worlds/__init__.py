"""Plans of simulated worlds: from the catalogue, from a seed, from a crash point."""
