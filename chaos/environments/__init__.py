"""The worlds: where services and processes come from."""
