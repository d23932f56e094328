# make demo: set up and show what the lab does.  make test: set up, install the services, run every test.  make test-quick: while you work.
.POSIX:
.SUFFIXES:

PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt
# A process for each core, four at most: each starts services of its own. A file of tests stays in one process, the slow folders come first.
PYTEST = $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# One target for each kind of test; tests/README.md describes them.
KINDS = test-unit test-stateful test-simulation test-conformance test-services test-end-to-end test-negative test-plugin test-packaging test-browser test-architecture test-third-party

# The tests to run while working: no services, no test marked slow, a tenth of the drawn examples.
QUICK = tests/unit tests/architecture tests/simulation/test_scheduler.py

# How many workers of a healthy third-party system `make test-kills` kills: half a minute each.
KILLS = 20

.PHONY: demo test test-quick test-kills test-adapters services lint format $(KINDS) clean

demo: $(VENV)/installed
	$(BIN)/tasklab demo

# A missing service fails the tests in CI; elsewhere its tests are skipped with their reason.
test: $(VENV)/installed-dev
	@$(BIN)/tasklab services install --yes --with-browser || { test -z "$$CI" && echo "going on without services: tests that need them are skipped"; }
	$(MAKE) lint
	$(PYTEST)

test-quick: $(VENV)/installed-dev
	TASKLAB_EXAMPLES_FACTOR=0.1 $(PYTEST) --quiet -m "not services and not browser and not slow" $(QUICK)

test-kills: $(VENV)/installed-dev
	TASKLAB_KILLS=$(KILLS) $(PYTEST) tests/third_party

# Each scenario with the lab's own app of each library: three seeds as recommended, one by default. Hours; the runs stay in runs/adapters.
test-adapters: $(VENV)/installed-dev
	$(PYTEST) --dist load -m adapters --tasklab-out runs/adapters tests/third_party

services: $(VENV)/installed
	$(BIN)/tasklab services install --yes --with-browser
	$(BIN)/tasklab doctor

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(VENV)/installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(KINDS): $(VENV)/installed-dev
	$(PYTEST) tests/$$(echo $@ | sed 's/^test-//; s/-/_/g')

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tasklab needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: $(BIN)/python pyproject.toml constraints.txt
	$(INSTALL) --editable '.[load]'
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(INSTALL) --editable '.[load,containers,dev]'
	@touch $@

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
