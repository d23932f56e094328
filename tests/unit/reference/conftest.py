"""A world for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reference_impl.http.routes import create_app
from reference_impl.http.service import Api
from reference_impl.settings import Settings
from tests.unit.reference.asgi_client import AsgiClient
from tests.unit.reference.reference_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.runtime("api-1"), world.engine, world.broker, world.cache, world.metrics, Settings())


@pytest.fixture
def client(api: Api) -> AsgiClient:
    return AsgiClient(create_app(api, users=None))
