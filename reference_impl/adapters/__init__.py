"""Real implementations of the ports. No other module imports drivers, time, random or threading."""
