"""Linearizability on the command line: `tasklab check FILE --model lock|status`, and registers and locks of Jepsen histories."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from scenarios.judging.linearizability.objects import OBJECTS
from scenarios.judging.linearizability.search import Call, Model, linearizable
from scenarios.judging.verdict import Ruling, exit_code_of
from scenarios.stored.judge_files import Judged
from tasklab.exit_codes import EXIT_UNKNOWN
from tasklab.presentation.judgement import print_malformed
from tasklab.presentation.terminal import console, print_json


def check_objects(judged: Judged, name: str, *, time_limit_s: float, as_json: bool) -> int:
    """Judge every lock or every status of a history as a separate object, and print the result; returns the exit code."""
    model, calls = OBJECTS[name]
    malformed = judged.judgement.malformed
    if malformed:
        result = _unknown(name, f"the history is malformed: {malformed[0]}") | {"malformed": list(malformed)}
    elif name == "status" and judged.unremarkable.tasks:
        result = _unknown(
            name,
            f"the history is so large that {judged.unremarkable.tasks} tasks that ran once and succeeded were only counted; "
            "split it by task into files of less than 24 MB",
        )
    else:
        result = judge_calls(calls(judged.recorded.history), model, name=name, time_limit_s=time_limit_s)
    print_result(result, as_json=as_json)
    return int(str(result["exit_code"]))


def _unknown(name: str, reason: str) -> dict[str, object]:
    verdict = {"verdict": Ruling.UNKNOWN.value, "reason": reason, "witnesses": []}
    return {
        "checker": f"linearizable {name}",
        "valid": "unknown",
        "verdicts": {"linearizable": verdict},
        "exit_code": EXIT_UNKNOWN,
    }


def judge_calls(calls: Iterable[Call], model: Model, *, name: str, time_limit_s: float) -> dict[str, object]:
    """The result for these calls; unknown if there are none."""
    called = list(calls)
    stop_at = time.monotonic() + time_limit_s
    answer = linearizable(called, model, lambda: time.monotonic() > stop_at)
    ruling = answer.ruling if called else Ruling.UNKNOWN
    reasons = {
        Ruling.HELD: "",
        Ruling.BROKEN: "no order of the operations explains the answers",
        Ruling.UNKNOWN: f"no answer within {time_limit_s:g} s" if called else "no work: nothing was called",
    }
    about = {} if answer.key is None else {"key": answer.key}
    verdict = {"verdict": ruling.value, "reason": reasons[ruling], "witnesses": [str(key) for key in about.values()]}
    return {
        "checker": f"linearizable {name}",
        "valid": {Ruling.HELD: True, Ruling.BROKEN: False, Ruling.UNKNOWN: "unknown"}[ruling],
        **about,
        "calls": len(called),
        "tried": answer.tried,
        "verdicts": {"linearizable": verdict},
        "exit_code": exit_code_of([ruling]),
    }


def print_result(result: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the result as JSON, or one line for each verdict."""
    if as_json:
        print_json(result)
        return
    terminal = console()
    print_malformed(terminal, result.get("malformed", ()))
    valid = {True: "valid", False: "not valid"}.get(result["valid"], "unknown")
    terminal.print(f"{result.get('checker', 'no checker')}: {valid}")
    for name, verdict in result["verdicts"].items():
        terminal.print(f"{name:<24}{verdict['verdict']:<9}{' '.join(verdict['witnesses'])}  {verdict['reason']}")
