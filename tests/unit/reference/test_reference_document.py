"""The one form in which JSON is kept: canonical, ASCII, bounded in depth."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impl.rows.document import DEPTH_MAX, document

texts = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def nested(levels: int, *, in_lists: bool) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value] if in_lists else {"a": value}
    return value


@given(json_values)
def test_it_is_ascii_and_reads_as_what_was_written(value: Any) -> None:
    kept = document(value)

    assert kept.isascii()
    assert json.loads(kept) == value


@given(st.dictionaries(texts, json_values, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_fields_makes_no_difference(value: dict[str, Any], chance: Any) -> None:
    """R8: else the same request would be two."""
    fields = list(value.items())
    chance.shuffle(fields)

    assert document(dict(fields)) == document(value)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), -float("inf"), "\ud800", {"\udfff": 1}, ["\ud83d x \ude00"]]
)
def test_what_json_or_unicode_does_not_know_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"JSON compliant|surrogates not allowed"):
        document({"a": [value]})


def test_a_whole_surrogate_pair_and_a_backslash_before_ud_are_text() -> None:
    assert json.loads(document(["😀", "\\ud800"])) == ["😀", "\\ud800"]


@pytest.mark.parametrize("value", [b"bytes", object(), {1, 2}, {("a",): 1}])
def test_what_is_no_json_value_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        document({"a": value})


@pytest.mark.parametrize("in_lists", [True, False])
def test_nesting_is_bounded_far_below_the_interpreter_s_own_limit(in_lists: bool) -> None:
    """R25: what one process could write and a deeper stack in another could not read would end every worker that gets it."""
    assert json.loads(document(nested(DEPTH_MAX, in_lists=in_lists))) == nested(DEPTH_MAX, in_lists=in_lists)
    for levels in (DEPTH_MAX + 1, 100_000):
        with pytest.raises(ValueError, match="nested deeper"):
            document(nested(levels, in_lists=in_lists))


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)

    with pytest.raises(ValueError, match="nested deeper"):
        document(value)
