"""One experiment, from scenario to account: plan, nemesis, clients, drain, trail."""
