"""The interface to third parties: the plug-in protocols, the probe, the guard around foreign code."""
