"""First-order changes of a Python source: every place where one operator, constant or statement could be another. Pure.

A change is a piece of the text and what stands in its place, so the rest of the file keeps its lines and comments. Left out are
decorators, annotations, docstrings, and statements that only log or count: no world shows what they do.
"""

import ast
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Piece = tuple[str, int, int, str]
"""Operator, first byte, byte after the last, replacement."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one file. `id`: FILE:LINE.NUMBER, the number among the changes of that line; `start`, `end`: in bytes."""

    file: str
    line: int
    number: int
    operator: str
    start: int
    end: int
    after: str

    @property
    def id(self) -> str:
        """What `--only` takes."""
        return f"{self.file}:{self.line}.{self.number}"

    def applied_to(self, source: str) -> str:
        """The source of the mutant."""
        text = source.encode()
        return (text[: self.start] + self.after.encode() + text[self.end :]).decode()

    def diff(self, source: str) -> Sequence[str]:
        """The lines that change, with - and + before them."""
        lines = difflib.unified_diff(source.splitlines(), self.applied_to(source).splitlines(), lineterm="", n=0)
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def changes_of(file: str, source: str) -> list[Change]:
    """Every change of the source, in the order of the text.

    Raises:
        SyntaxError: it is no Python.
    """
    text = _Text(source)
    found = sorted({piece for node in _nodes(ast.parse(source)) for piece in _pieces(node, text)}, key=_place)
    changes: list[Change] = []
    for operator, start, end, after in found:
        line = text.line_of(start)
        number = 1 + sum(change.line == line for change in changes)
        change = Change(file, line, number, operator, start, end, after)
        if _compiles(change.applied_to(source)):
            changes.append(change)
    return changes


def _place(piece: Piece) -> tuple[int, int, str, str]:
    operator, start, end, after = piece
    return start, end, operator, after


def _compiles(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Text:
    """The source by bytes, as positions of the syntax tree count."""

    def __init__(self, source: str) -> None:
        self.bytes = source.encode()
        self._starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """First byte of the node, and the byte after its last."""
        end_line, end_column = end_of(node)
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[end_line - 1] + end_column

    def line_of(self, position: int) -> int:
        """Line number, from 1."""
        return sum(start <= position for start in self._starts)

    def between(self, start: int, end: int) -> str:
        """The text there."""
        return self.bytes[start:end].decode()


def end_of(node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
    """Line and column, in bytes, after the last byte of the node."""
    assert node.end_lineno is not None, "it comes from a parsed source"
    assert node.end_col_offset is not None, "it comes from a parsed source"
    return node.end_lineno, node.end_col_offset


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below decorators, annotations and what is left out as a whole."""
    if _only_tells(tree):
        return
    yield tree
    left_out = [*getattr(tree, "decorator_list", []), getattr(tree, "annotation", None), getattr(tree, "returns", None)]
    for child in ast.iter_child_nodes(tree):
        if not any(child is one for one in left_out):
            yield from _nodes(child)


def _only_tells(node: ast.AST) -> bool:
    """A statement that only logs, counts, or documents; and `strict=` of a `zip`, which asserts."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    if not isinstance(node, ast.Expr):
        return False
    source = ast.unparse(node.value)
    return (
        isinstance(node.value, ast.Constant)
        or source.startswith("log.")
        or "metrics." in source
        or source == "backoff.reset()"
    )


_ORDER = {ast.Lt: ("<", "<=", ">="), ast.LtE: ("<=", "<", ">"), ast.Gt: (">", ">=", "<="), ast.GtE: (">=", ">", "<")}
_OPPOSITE = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
}
COMPARISONS = {kind: names for table in (_ORDER, _OPPOSITE) for kind, names in table.items()}
"""By operator: its text as a regular expression, and the texts that replace it."""
ARITHMETIC = {ast.Add: (r"\+", "-"), ast.Sub: ("-", "+"), ast.Mult: (r"\*", "/"), ast.Div: ("/", "*")}
MODIFIERS = frozenset({"with_for_update", "order_by", "limit"})
"""Calls at the end of a statement in SQL that a mutant leaves out."""
_TESTS = frozenset({"in_", "is_", "is_not", "not_in"})


def _comparison(node: ast.Compare, text: _Text) -> Iterator[Piece]:
    terms = [node.left, *node.comparators]
    for left, operator, right in zip(terms, node.ops, terms[1:], strict=False):
        pattern, *others = COMPARISONS[type(operator)]
        if "now_us()" in text.between(*text.span(node)):
            others = others[-1:]  # of an instant in microseconds, whether it is included is never seen
        for other in others:
            yield from _between("comparison", text, left, right, pattern, other)


def _boolean(node: ast.BoolOp, text: _Text) -> Iterator[Piece]:
    pattern, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in zip(node.values, node.values[1:], strict=False):
        yield from _between("boolean", text, left, right, pattern, other)


def _arithmetic(node: ast.BinOp, text: _Text) -> Iterator[Piece]:
    if type(node.op) in ARITHMETIC:
        pattern, other = ARITHMETIC[type(node.op)]
        yield from _between("arithmetic", text, node.left, node.right, pattern, other)


def _between(operator: str, text: _Text, left: ast.expr, right: ast.expr, pattern: str, other: str) -> Iterator[Piece]:
    start, end = text.span(left)[1], text.span(right)[0]
    found = re.search(pattern, text.between(start, end))
    if found is not None:
        yield operator, start + found.start(), start + found.end(), other


def _negation(node: ast.UnaryOp, text: _Text) -> Iterator[Piece]:
    if isinstance(node.op, ast.Not):
        yield "boolean", text.span(node)[0], text.span(node.operand)[0], ""


def _constant(node: ast.Constant, text: _Text) -> Iterator[Piece]:
    start, end = text.span(node)
    if isinstance(node.value, bool):
        yield "constant", start, end, str(not node.value)
    elif isinstance(node.value, int | float):
        others = [1] if node.value == 0 else [0, node.value + 1] if node.value > 1 else [0, 2]
        for other in others:
            yield "constant", start, end, repr(type(node.value)(other))


def _condition(node: ast.If | ast.While | ast.IfExp, text: _Text) -> Iterator[Piece]:
    """Comparisons and negations are changed by their own operators."""
    if isinstance(node.test, ast.Name | ast.Attribute | ast.Call | ast.BoolOp):
        start, end = text.span(node.test)
        yield "condition negated", start, end, f"(not ({text.between(start, end)}))"


def _statement(node: ast.stmt, text: _Text) -> Iterator[Piece]:
    """Not an assignment to a name, without which the next line that reads it would only raise."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    if not any(isinstance(target, ast.Name | ast.Tuple) for target in targets):
        yield "statement removed", *text.span(node), "pass"


def _call(node: ast.Call, text: _Text) -> Iterator[Piece]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Attribute) and name in MODIFIERS:
        yield "clause removed", text.span(node.func.value)[1], text.span(node)[1], ""
    if len(node.args) > 1:
        for argument in node.args:
            if _is_condition(argument, in_where=name == "where"):
                yield from _argument("condition removed", argument, text)
    if name == "values":
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield from _argument("column removed", keyword, text)


def _is_condition(argument: ast.expr, *, in_where: bool) -> bool:
    called = argument.func if isinstance(argument, ast.Call) else None
    is_test = isinstance(called, ast.Attribute) and called.attr in _TESTS
    return is_test or isinstance(argument, ast.Compare) or (in_where and not isinstance(argument, ast.Starred))


def _argument(operator: str, argument: ast.expr | ast.keyword, text: _Text) -> Iterator[Piece]:
    """The argument with the comma and the space after it."""
    start, end = text.span(argument)
    comma = re.match(r"\s*,\s*", text.bytes[end:].decode())
    if comma is None:
        before = re.search(r",\s*$", text.bytes[:start].decode())
        yield operator, start - (len(before.group()) if before else 0), end, ""
    else:
        yield operator, start, end + len(comma.group()), ""


_OPERATORS: dict[type[ast.AST], Callable[..., Iterator[Piece]]] = {
    ast.Compare: _comparison,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _negation,
    ast.BinOp: _arithmetic,
    ast.Constant: _constant,
    ast.If: _condition,
    ast.While: _condition,
    ast.IfExp: _condition,
    ast.Call: _call,
    **dict.fromkeys((ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Return, ast.Break, ast.Continue), _statement),
}


def _pieces(node: ast.AST, text: _Text) -> Iterator[Piece]:
    operator = _OPERATORS.get(type(node))
    if operator is not None:
        yield from operator(node, text)
