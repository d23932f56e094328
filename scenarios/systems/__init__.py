"""Systems that can be tested: the reference, and others."""
