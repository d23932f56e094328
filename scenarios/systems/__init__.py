"""Systems under test that come with the lab: the reference, its mutants, and the naive system."""
