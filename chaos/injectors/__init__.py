"""How each fault is done in real environments, and how its bite and its healing are proven. One fault a file.

The name of a file is that of its fault in snake case, the same as in `chaos.simulation.injectors`; it holds an `INJECTOR`.
"""
