"""No mutant, but what all of them are made of: the reference without its last safety net. It keeps every promise that it makes."""

from scenarios.systems.mutants.mutant import Mutant

system = Mutant(name="control")
