"""What clients do while the world breaks."""
