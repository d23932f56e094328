"""The search for an order of calls finds one if and only if trying every order does."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios.judging.jepsen.calls import MODELS, calls_of
from scenarios.judging.jepsen.operations import MalformedHistory, operations_from
from scenarios.judging.linearizability.search import FOREVER, Call, Model, linearizable
from scenarios.judging.verdict import Ruling
from tests.examples import examples

VALUES = st.integers(0, 2)
ASKED = {
    "register": st.one_of(st.tuples(st.just("read"), VALUES), st.tuples(st.just("write"), VALUES)),
    "cas-register": st.one_of(
        st.tuples(st.just("read"), VALUES),
        st.tuples(st.just("write"), VALUES),
        st.tuples(st.just("cas"), st.tuples(VALUES, VALUES)),
    ),
    "mutex": st.tuples(st.sampled_from(["acquire", "release"]), st.none()),
}


@st.composite
def histories(draw: st.DrawFn, name: str, calls_max: int = 7) -> list[Call]:
    """Up to `calls_max` calls; their ends in any order, some never."""
    asked = draw(st.lists(ASKED[name], max_size=calls_max))
    instants = draw(st.permutations(range(2 * len(asked))))
    calls = []
    for place, (f, value) in enumerate(asked):
        called, returned = sorted(instants[2 * place : 2 * place + 2])
        is_known = draw(st.integers(0, 4)) > 0
        calls.append(Call(f, value, called, returned if is_known else FOREVER, is_known))
    return calls


def by_trying_every_order(calls: Sequence[Call], model: Model) -> bool:
    """Whether any order of any choice of the unknown calls respects time and the model."""
    known = [call for call in calls if call.is_known]
    unknown = [call for call in calls if not call.is_known]
    return any(
        _respects_time(order) and _is_possible(order, model)
        for count in range(len(unknown) + 1)
        for chosen in itertools.combinations(unknown, count)
        for order in itertools.permutations([*known, *chosen])
    )


def _respects_time(order: Sequence[Call]) -> bool:
    return all(earlier.called <= later.returned for earlier, later in itertools.combinations(order, 2))


def _is_possible(order: Sequence[Call], model: Model) -> bool:
    state = model.initial
    for call in order:
        following = model.step(state, call)
        if following is None:
            return False
        (state,) = following
    return True


@pytest.mark.parametrize("name", sorted(MODELS))
@examples(150)
@given(data=st.data())
def test_the_search_agrees_with_trying_every_order(name: str, data: st.DataObject) -> None:
    model, _ = MODELS[name]
    calls = data.draw(histories(name, 6 if name == "cas-register" else 7))

    answer = linearizable(calls, model)

    assert (answer.ruling is Ruling.HELD) == by_trying_every_order(calls, model)
    assert answer.ruling is not Ruling.UNKNOWN


def test_objects_are_judged_each_for_itself() -> None:
    model, _ = MODELS["register"]
    good = [Call("write", 1, 0, 1, key="a"), Call("read", 1, 2, 3, key="a")]
    bad = [Call("write", 1, 0, 1, key="b"), Call("read", 2, 2, 3, key="b")]

    assert linearizable([*good, *bad], model).key == "b"
    assert linearizable(good, model).ruling is Ruling.HELD


def test_a_search_that_gives_up_is_unknown() -> None:
    model, _ = MODELS["register"]
    calls = [Call("write", value, 0, 100) for value in range(12)] + [Call("read", 99, 101, 102)]

    assert linearizable(calls, model, give_up=lambda: True).ruling is Ruling.UNKNOWN


def test_a_long_history_of_few_clients_is_searched_in_a_moment() -> None:
    model, _ = MODELS["register"]
    calls = [Call("write", number, 10 * number, 10 * number + 5) for number in range(3000)]
    calls += [Call("read", number, 10 * number + 6, 10 * number + 9) for number in range(3000)]

    answer = linearizable(calls, model)

    assert answer == type(answer)(Ruling.HELD, None, 6001)


def test_an_unknown_write_may_take_effect_late_or_never() -> None:
    history = operations_from(
        {"process": process, "type": kind, "f": f, "value": value}
        for process, kind, f, value in [
            (0, "invoke", "write", 1),
            (0, "ok", "write", 1),
            (1, "invoke", "write", 2),
            (1, "info", "write", 2),
            (0, "invoke", "read", None),
            (0, "ok", "read", 1),
            (0, "invoke", "read", None),
            (0, "ok", "read", 2),
        ]
    )
    model, functions = MODELS["register"]

    assert linearizable(calls_of(history, functions), model).ruling is Ruling.HELD


def test_two_holders_of_a_mutex_have_no_order() -> None:
    model, _ = MODELS["mutex"]
    calls = [Call("acquire", None, 0, 1), Call("acquire", None, 2, 3), Call("release", None, 4, 5)]

    assert linearizable(calls, model).ruling is Ruling.BROKEN


@pytest.mark.parametrize(
    "lines", [[(0, "ok", "read", 1)], [(0, "invoke", "cas", 1)], [(0, "invoke", "enqueue", 1)]], ids=str
)
def test_calls_that_the_model_cannot_mean_are_refused(lines: list) -> None:
    history = operations_from(
        {"process": process, "type": kind, "f": f, "value": value} for process, kind, f, value in lines
    )

    with pytest.raises(MalformedHistory):
        calls_of(history, MODELS["cas-register"][1])
