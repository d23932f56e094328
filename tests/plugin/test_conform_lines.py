"""The test kit of the protocol: programs that speak it, and programs that do not, each told by its request."""

import sys
from pathlib import Path

import pytest

from tasklab.conforming.findings import Mark, WordFinding, WordFindings
from tasklab.conforming.wire import Speaker, check_wire

PLAIN = Path(__file__).parents[2] / "docs" / "examples" / "plain" / "client.py"
DESCRIPTION = '{"protocol": 1, "name": "one", "claims": [], "needs": [], "powers": []}'
PROGRAM = f"""
import json, sys
def tell(request, **content):
    print(json.dumps({{"id": request["id"], **content}}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "describe":
        ok = {DESCRIPTION}
        ON_DESCRIBE
        tell(request, ok=ok)
    else:
        tell(request, UNKNOWN)
AT_END
"""
UNSUPPORTED = 'error={"kind": "unsupported", "message": "no"}'


def findings_of(
    place: Path, *, on_describe: str = "pass", unknown: str = UNSUPPORTED, at_end: str = ""
) -> list[WordFinding]:
    program = place / "client.py"
    text = PROGRAM.replace("ON_DESCRIBE", on_describe).replace("UNKNOWN", unknown).replace("AT_END", at_end)
    program.write_text(text)
    return check([sys.executable, str(program)], deadline_s=3.0)


def check(argv: list[str], *, deadline_s: float | None = None, describes: bool = True) -> list[WordFinding]:
    findings = WordFindings(lambda _: None)
    check_wire(Speaker(argv, Path.cwd(), describes=describes), findings, deadline_s=deadline_s)
    return findings.all


def to_mend(findings: list[WordFinding]) -> dict[str, str]:
    return {finding.word: finding.said for finding in findings if finding.mark is Mark.MEND}


def test_the_example_speaks_the_protocol() -> None:
    found = check([sys.executable, str(PLAIN)])

    assert [finding.word for finding in found] == [
        "several requests at once",
        "unknown field",
        "unknown request",
        "end of input",
    ]
    assert to_mend(found) == {}


@pytest.mark.parametrize(
    ("wrong", "word", "said"),
    [
        ({"on_describe": "print('hello')"}, "unknown field", "its output holds b'hello', which is not an answer"),
        ({"on_describe": "request['id'] += 100"}, "unknown field", "which is not open"),
        ({"on_describe": "assert 'added_later' not in request"}, "unknown field", "AssertionError"),
        ({"on_describe": "ok['claims'] = 7"}, "unknown field", "Expected `array`, got `int`"),
        ({"on_describe": "ok['name'] += str(request['id'])"}, "several requests at once", "8 different names"),
        ({"on_describe": "sys.exit(3)"}, "unknown field", "ended by itself, with exit code 3"),
        ({"unknown": "ok={}"}, "unknown request", "it is answered with ok: {}"),
        ({"unknown": 'error={"kind": "raised", "message": "no"}'}, "unknown request", "the error raised"),
        (
            {"at_end": "import time; time.sleep(60)"},
            "end of input",
            "still runs 5 s after the end of its standard input",
        ),
    ],
)
def test_what_a_program_does_wrong_is_told_of_the_request(
    wrong: dict[str, str], word: str, said: str, tmp_path: Path
) -> None:
    found = to_mend(findings_of(tmp_path, **wrong))

    assert said in found[word]


def test_a_program_that_never_answers_is_told_after_its_time(tmp_path: Path) -> None:
    found = check([sys.executable, "-c", "import time; time.sleep(60)"], deadline_s=0.3)

    assert len(to_mend(found)) == len(found)
    assert "the plug-in has not answered describe for 0.3 s; its process was killed" in to_mend(found).values()


def test_a_program_whose_system_a_file_describes_is_not_asked_to_describe_it() -> None:
    found = check([sys.executable, str(PLAIN)], describes=False)

    assert [finding.word for finding in found] == ["unknown request", "end of input"]
    assert to_mend(found) == {}
