# Each target creates .venv and installs what it needs; a second call does only the work.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
# The stamps name the Python version, so that another PYTHON makes the environment anew.
VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
CORE := $(VENV)/core-$(VERSION)
DEV := $(VENV)/dev-$(VERSION)
CLIENTS := $(VENV)/clients-$(VERSION)
DOCS := $(VENV)/docs-$(VERSION)
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
CODE := src tests benchmarks docs/generate examples

# Tests start many processes, and each would compile every module again where this is set.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo lint format test test-slow test-gpu test-slurm test-wheel bench pages docs docs-environment clean

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

$(CLIENTS): $(DEV)
	$(PIP) -e '.[clients]'
	@touch $@

$(DOCS): $(DEV)
	$(PIP) -e '.[docs]'
	@touch $@

lint: $(DEV)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy -n $(JOBS)
	$(BIN)/python -m tests.weight

format: $(DEV)
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

test: lint
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slow and not slurm"

test-slow: lint $(CLIENTS)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m "not slurm"

# On a machine with a GPU, with the Python and the packages that are there: nothing is installed. Entry points come from the
# metadata that setuptools writes beside the source.
test-gpu:
	$(PYTHON) tests/gpu.py

# On a real Slurm with two nodes on this machine, which the tests start and stop. Without Slurm they fail, and say how to
# install it. SLURM_TESTS="slurm and not slow" runs the quick part.
SLURM_TESTS ?= slurm
test-slurm: $(DEV)
	GLASSHOUSE_TESTS_REQUIRE=slurm $(BIN)/python -m pytest -m "$(SLURM_TESTS)" tests/slurm

# The wheel, built, installed into an environment of its own, and used once.
test-wheel: $(DEV)
	rm -rf build dist && $(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .
	$(PYTHON) -m venv --clear build/wheel
	build/wheel/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && GLASSHOUSE_RUNS=runs wheel/bin/glasshouse train demo-lm training.steps=2 model.layers=1 model.width=32 \
	    data.vocabulary=300 evaluation.tokens=500 evaluation.sample_tokens=4 --name wheel --device cpu
	cd build && GLASSHOUSE_RUNS=runs wheel/bin/glasshouse sample wheel --tokens 5 --device cpu

bench: $(DEV)
	for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

# Pages that are made from the program; a test checks that they are current.
pages: $(DEV)
	$(BIN)/python -m docs.generate

docs-environment: $(DOCS)

# The site, in site/; open site/index.html. Warnings are errors.
docs: $(DOCS)
	$(BIN)/python -m docs.generate
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
