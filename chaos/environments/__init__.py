"""The environments: where services and processes come from."""
