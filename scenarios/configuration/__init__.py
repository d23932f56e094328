"""tasklab.toml: which app is tested, or a description of a system without any Python (docs/configuration.md)."""
