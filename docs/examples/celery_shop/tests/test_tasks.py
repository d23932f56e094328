"""The task as a function, without a broker."""

from shop.tasks import charge


def test_a_charge_has_a_receipt():
    """Its number names the order and the amount."""
    assert charge("A-17", 990) == "A-17-990"
