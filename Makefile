# Each target creates .venv and installs what it needs; a second call does only the work.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: install demo test test-slow lint bench docs clean

install: $(VENV)/core
demo: $(VENV)/core
	$(BIN)/glasshouse demo

$(VENV)/core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/core $@

lint: $(VENV)/dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-slow: lint
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(VENV)/dev
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

docs: $(VENV)/dev
	$(BIN)/python -m glasshouse.cli.pages > docs/commands.md

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
