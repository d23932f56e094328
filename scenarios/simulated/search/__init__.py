"""Many worlds: campaigns, shrinking of failing worlds, and their stories."""
