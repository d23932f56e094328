"""How results are shown: on a terminal, as JSON, in sentences."""
