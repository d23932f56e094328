"""The control: the reference without its safety net for undelivered tasks, like every mutant, but with no defect. It keeps its promises."""

from scenarios.systems.mutant import Mutant

system = Mutant(name="control")
