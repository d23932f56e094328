"""A small shop, whose orders are charged in the background."""
