"""The worker of the directory that is its first argument: runs each task, and renames its file when it has ended."""

import json
import pathlib
import sys
import time

import tasklab_probe

while True:
    for file in sorted(pathlib.Path(sys.argv[1]).glob("*.todo")):
        try:
            tasklab_probe.run_task(json.loads(file.read_text()), key=file.stem)
            file.rename(file.with_suffix(".done"))
        except tasklab_probe.TaskError as error:
            if error.kind == "permanent":
                file.rename(file.with_suffix(".dead"))
    time.sleep(0.02)  # a directory cannot notify
