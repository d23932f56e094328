"""Run directories → one self-contained HTML file."""
