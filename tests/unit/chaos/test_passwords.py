"""What a program said last is shown without the passwords of its configuration."""

import pytest

from chaos.hosting.passwords import without_passwords


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("cannot reach amqp://shop:hunter2@mq:5672/prod", "cannot reach amqp://shop:***@mq:5672/prod"),
        ("ValueError('redis://:hun/ter2@cache/1')", "ValueError('redis://:***@cache/1')"),
        ("a://u:hunter2@b, c://v:hunter2@d", "a://u:***@b, c://v:***@d"),
        ("host=db password=hunter2 dbname=shop", "host=db password=*** dbname=shop"),
        ("{'user': 'shop', 'PASSWORD': 'hun ter2'}", "{'user': 'shop', 'PASSWORD': ***}"),
        ('connect(token="hunter2", retries=3)', "connect(token=***, retries=3)"),
    ],
)
def test_a_password_is_hidden_and_the_rest_stays(said: str, shown: str) -> None:
    assert without_passwords(said) == shown


@pytest.mark.parametrize(
    "said", ["http://127.0.0.1:8000/shop?at=noon", "password=None", "at 12:30 mail to a@b.c", "tokens: 3 left"]
)
def test_what_holds_no_password_is_left_alone(said: str) -> None:
    assert without_passwords(said) == said
