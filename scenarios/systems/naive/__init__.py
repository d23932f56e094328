"""The naive system: the example code of design documents, taken literally."""
