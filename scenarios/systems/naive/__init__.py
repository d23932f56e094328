"""The naive system: what the code of design documents does, taken literally."""
