"""The record of a run: events, histories, facts. Pure: stored by `scenarios.stored`, judged by `scenarios.judging`."""
