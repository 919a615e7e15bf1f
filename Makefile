# Each target creates .venv and installs what it needs; a second call does only the work.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
# The stamps name the Python version, so that another PYTHON makes the environment anew.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
CORE := $(VENV)/core-$(VERSION)
DEV := $(VENV)/dev-$(VERSION)
PIP := $(BIN)/pip install --quiet --disable-pip-version-check

.PHONY: install demo test test-slow lint bench docs clean

install: $(CORE)

demo: $(CORE)
	$(BIN)/glasshouse demo
	@echo 'The command is in $(BIN); have it on your path with: source $(BIN)/activate'

$(CORE): pyproject.toml
	test -x $(BIN)/python$(VERSION) || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) -e .
	@touch $@

$(DEV): pyproject.toml
	test -x $(BIN)/python$(VERSION) || $(PYTHON) -m venv --clear $(VENV)
	$(PIP) -e '.[dev]'
	@touch $(CORE) $@

lint: $(DEV)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-slow: lint
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(DEV)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

docs: $(DEV)
	$(BIN)/python -m docs.generate

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
