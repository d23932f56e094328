"""How each fault is done in real environments, and how it is proven to have bitten and healed. One fault a file.

The name of a file is that of its fault in snake case, the same as in `chaos.simulation.injectors`; it holds an `INJECTOR`.
"""
