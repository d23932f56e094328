"""The simulated broker and its client."""
