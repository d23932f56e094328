"""How each fault is done, and how it is proven to have bitten and healed."""
