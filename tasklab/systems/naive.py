"""The entry point `naive`."""

from scenarios.systems.naive.plugin import system as system
