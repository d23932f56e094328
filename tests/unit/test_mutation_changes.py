"""Changes of a source: which there are, what they make of it, and that a changed module tells whether its statement was executed."""

import subprocess
import sys
from textwrap import dedent

import pytest

from scenarios.errors import WrongUsage
from tasklab.mutation.campaign import DELIVERY_PATH, drawn, mutants_of, only
from tasklab.mutation.changes import changes_of
from tasklab.mutation.loading import ChangedModule


def mutants(source: str) -> list[tuple[str, str]]:
    """Each operator with the changed lines."""
    text = dedent(source)
    return [(change.operator, " ".join(change.diff(text))) for change in changes_of("file.py", text)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b\n", [("comparison", "-x = a < b +x = a <= b"), ("comparison", "-x = a < b +x = a >= b")]),
        ("x = a is not b\n", [("comparison", "-x = a is not b +x = a is b")]),
        ("x = a and b\n", [("boolean", "-x = a and b +x = a or b")]),
        ("x = not a\n", [("boolean", "-x = not a +x = a")]),
        ("x = True\n", [("constant", "-x = True +x = False")]),
        ("x = 3\n", [("constant", "-x = 3 +x = 0"), ("constant", "-x = 3 +x = 4")]),
        ("x = 0.0\n", [("constant", "-x = 0.0 +x = 1.0")]),
        ("x = a + b\n", [("arithmetic", "-x = a + b +x = a - b")]),
        ("f(x)\n", [("statement removed", "-f(x) +pass")]),
        ("a.b = c\n", [("statement removed", "-a.b = c +pass")]),
        ("x = t.where(a, b)\n", [("condition removed", "-x = t.where(a, b) +x = t.where(b)")] * 0
         + [("condition removed", "-x = t.where(a, b) +x = t.where(b)"),
            ("condition removed", "-x = t.where(a, b) +x = t.where(a)")]),
        ("x = t.values(a=b)\n", [("column removed", "-x = t.values(a=b) +x = t.values()")]),
        ("x = t.order_by(a)\n", [("clause removed", "-x = t.order_by(a) +x = t")]),
    ],
)  # fmt: skip
def test_a_source_has_the_changes_of_its_operators(source: str, expected: list[tuple[str, str]]) -> None:
    assert mutants(source) == expected


def test_a_condition_without_an_operator_of_its_own_is_negated() -> None:
    found = mutants(
        """
        if f():
            x = y
        """
    )

    assert found == [("condition negated", "-if f(): +if (not (f())):")]


@pytest.mark.parametrize(
    "source",
    [
        '"""Only words, 1 < 2."""\n',
        "log.warning(a, 3)\n",
        "self.metrics.swept.inc(2)\n",
        "@dataclass(frozen=True)\nclass A:\n    b: Literal[3]\n",
        "x = zip(a, b, strict=True)\n",
    ],
)
def test_what_no_world_can_show_is_left_out(source: str) -> None:
    assert mutants(source) == []


def test_a_change_after_letters_of_several_bytes_is_in_its_place() -> None:
    (change, _) = changes_of("file.py", 'x = "→ä", 2\n')

    assert change.applied_to('x = "→ä", 2\n') == 'x = "→ä", 0\n'


def test_the_same_seed_draws_the_same_changes_of_the_delivery_path() -> None:
    every = mutants_of(DELIVERY_PATH)

    first, second, other = (drawn(every, seed, 40) for seed in (7, 7, 8))

    assert [one.change.id for one in first] == [one.change.id for one in second]
    assert {one.change.id for one in first} != {one.change.id for one in other}
    assert len({one.change.id for one in every}) == len(every)


def test_every_change_of_the_delivery_path_changes_something() -> None:
    assert all(one.diff for one in mutants_of(DELIVERY_PATH))


def test_a_file_outside_the_reference_and_an_unknown_id_are_wrong_usage() -> None:
    with pytest.raises(WrongUsage, match="no file of the reference"):
        mutants_of([__file__])
    with pytest.raises(WrongUsage, match=r"loops/relay\.py:1\.1"):
        only(mutants_of(["loops/relay.py"]), ["loops/relay.py:1.1"])


@pytest.mark.parametrize(("call", "reached"), [("f(True)", True), ("f(False)", False)])
def test_a_changed_module_tells_whether_its_statement_was_executed(call: str, reached: bool) -> None:
    source = "def f(a):\n    if a:\n        return 1\n    return 2\n"
    module = ChangedModule("tasklab_changed_module", "changed.py", source, source.index("1"))
    sys.meta_path.insert(0, module)
    try:
        import tasklab_changed_module  # type: ignore[import-not-found]

        eval(call, {"f": tasklab_changed_module.f})
    finally:
        sys.meta_path.remove(module)
        del sys.modules["tasklab_changed_module"]

    assert module.reached is reached


def test_nothing_of_the_reference_is_imported_before_the_changed_module_is_in_place() -> None:
    program = "import sys, tasklab.mutation.trial; print([name for name in sys.modules if 'reference_impl' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_the_edge_of_an_instant_is_no_change_but_its_direction_is() -> None:
    assert mutants("x = a < now_us()\n") == [("comparison", "-x = a < now_us() +x = a >= now_us()")]
