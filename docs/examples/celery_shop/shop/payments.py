"""The payment provider: here a stand-in that writes a receipt."""


def collect(order: str, cents: int) -> str:
    """Collect the price of an order; returns the number of the receipt."""
    return f"{order}-{cents}"
