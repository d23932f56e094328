"""What a third party writes or carries: the plug-in protocols, the probe, the guard around foreign code."""
