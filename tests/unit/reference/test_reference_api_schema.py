"""Whatever a client sends, valid or not, is answered as the API's own description says: schemathesis against the OpenAPI schema."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import positive_data_acceptance
from schemathesis.schemas import BaseSchema

from reference_impl.http.routes import create_app
from reference_impl.http.service import Api
from reference_impl.http.users import Caller, Users, digest_of
from reference_impl.settings import Settings
from tests.examples import FACTOR
from tests.unit.reference.reference_world import World

OPERATIONS = [
    ("post", "/tasks"),
    ("get", "/tasks/{task_id}"),
    ("get", "/tasks/{task_id}/transitions"),
    ("post", "/tasks/{task_id}/cancel"),
    ("get", "/dead-letters"),
    ("post", "/dead-letters/{letter_id}/redrive"),
    ("post", "/dead-letters/{letter_id}/discard"),
    ("get", "/health/live"),
    ("get", "/health/ready"),
    ("get", "/metrics"),
]
TOKEN = "operator-0123456789"
WITHOUT_INPUT = {"/health/live", "/health/ready", "/metrics"}
TRIES = [
    (*operation, mode)
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or operation[1] not in WITHOUT_INPUT
]
STRICTER = {"/tasks": [positive_data_acceptance]}
"""To JSON Schema 0.0 is an integer and any nesting an object; a submission is held to more than a schema can say."""
EXAMPLES = 40
"""An operation and a mode; derandomised, so that they are the same in every run."""


def without_security(description: dict[str, Any]) -> dict[str, Any]:
    """The same description to a caller who always sends the token: else a case without one would count as invalid input."""
    for methods in description["paths"].values():
        for operation in methods.values():
            operation.pop("security", None)
    del description["components"]["securitySchemes"]
    return description


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BaseSchema]:
    world = World(tmp_path_factory.mktemp("schema"))
    settings = Settings(new_tasks_per_minute=1_000_000)
    users = Users({digest_of(TOKEN): Caller("operator", is_operator=True)})
    api = Api(world.runtime("api-1"), world.engine, world.broker, world.cache, world.metrics, settings)
    app = create_app(api, users)
    app.openapi_schema = without_security(app.openapi())
    yield schemathesis.openapi.from_asgi("/openapi.json", app)
    world.close()


def test_every_operation_is_tried(described: BaseSchema) -> None:
    known = [(method, path) for path, methods in described.raw_schema["paths"].items() for method in methods]

    assert sorted(known) == sorted(OPERATIONS)


@pytest.mark.parametrize(("method", "path", "mode"), TRIES)
def test_every_answer_is_one_that_the_description_knows(
    described: BaseSchema, method: str, path: str, mode: GenerationMode
) -> None:
    """R8, R25: no 500, no undocumented status, no body of another form, nothing invalid accepted."""
    operation = described[path][method]

    @settings(
        max_examples=max(1, round(EXAMPLES * min(FACTOR, 1))),
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"Authorization": f"Bearer {TOKEN}"}, excluded_checks=STRICTER.get(path, []))

    check()
