"""`tasklab check --format jepsen`: judge the history of an old Jepsen run of a queue, a set, a source of ids, a register or a lock."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import typer

from scenarios.errors import NothingToJudge
from scenarios.judging.jepsen.calls import MODELS, calls_of
from scenarios.judging.jepsen.checkers import CHECKERS
from scenarios.judging.jepsen.operations import MalformedHistory, Operation, operations_from, read_operations
from scenarios.judging.jepsen.verdicts import JepsenJudgement, judge_jepsen
from scenarios.stored.reading import read_document
from tasklab.checking.objects import judge_calls, print_result
from tasklab.exit_codes import EXIT_BROKEN, EXIT_HELD, EXIT_UNKNOWN
from tasklab.presentation.terminal import harmless, print_json


def check_jepsen(file: Path, *, model: str | None, time_limit_s: float, as_json: bool) -> int:
    """Judge the history, print the results of Jepsen's rules and of the lab's; returns the lab's exit code.

    Raises:
        NothingToJudge: no such file, or no such model.
    """
    if model is not None and model not in MODELS and model not in CHECKERS:
        known = ", ".join([*MODELS, *CHECKERS])
        raise NothingToJudge(f"there is no model {model!r}; the models are {known}")
    try:
        history = read_operations(read_document(file))
        is_object = model in MODELS
        result = _judge_calls(history, model, time_limit_s) if is_object else judge_jepsen(history, model).to_json()
    except OSError as error:
        raise NothingToJudge(f"{file} cannot be read: {error.strerror or error}") from error
    except MalformedHistory as error:
        result = {"valid": "unknown", "verdicts": {}, "malformed": [f"{file.name}: {error}"], "exit_code": EXIT_UNKNOWN}
    print_result(result, as_json=as_json)
    return int(str(result["exit_code"]))


def check_jepsen_cases(file: Path, *, as_json: bool) -> int:
    """Judge a file of cases, `{"cases": [{id, checker, params, history, expect}]}`; print the differences from Jepsen's results."""
    try:
        cases = msgspec.json.decode(read_document(file))
        cases = cases["cases"] if isinstance(cases, dict) else cases
        judged = {case["id"]: (case["expect"], _judge_case(case)) for case in cases}
    except (
        OSError,
        msgspec.DecodeError,
        MalformedHistory,
        KeyError,
        TypeError,
        UnicodeDecodeError,
        RecursionError,
    ) as error:
        raise NothingToJudge(f"{file} holds no cases: {error!r}") from error
    differences = [
        {"case": name, "field": field, "expected": expected[field], "actual": judgement.result.get(field)}
        for name, (expected, judgement) in judged.items()
        for field in expected
        if judgement.result.get(field) != expected[field]
    ]
    if as_json:
        print_json({"cases": len(judged), "differences": differences})
    else:
        for one in differences:
            typer.echo(harmless(f"{one['case']}: {one['field']}: expected {one['expected']}, is {one['actual']}"))
        typer.echo(f"{len(judged)} cases, {len(differences)} differences")
    return EXIT_BROKEN if differences else EXIT_HELD


def _judge_case(case: Mapping[str, Any]) -> JepsenJudgement:
    params = case.get("params") or {}
    return judge_jepsen(operations_from(case["history"]), case["checker"], str(params.get("model") or ""))


def _judge_calls(history: list[Operation], model: str | None, time_limit_s: float) -> dict[str, object]:
    assert model is not None
    specification, functions = MODELS[model]
    return judge_calls(calls_of(history, functions), specification, name=model, time_limit_s=time_limit_s)
