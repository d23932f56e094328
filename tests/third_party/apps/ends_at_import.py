"""An app whose module ends the process when it is imported."""

import os

print("no licence for this machine", flush=True)
os._exit(3)
