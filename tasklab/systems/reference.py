"""The entry point `reference`."""

from scenarios.systems.reference.plugin import system as system
