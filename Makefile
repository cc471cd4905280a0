# `make demo` and `make test` make their own virtual environment; they need Python 3.11 or newer, a C++ compiler and pip.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find cpp src -type f -not -name '*.pyc')

# The paper's data sets are optional: they are used when they are there.
ifneq ($(wildcard ../shared/data/README.md),)
export PAIRSIFT_DATA ?= $(abspath ../shared/data)
endif
# One thread for BLAS: timings and bits must not depend on how many cores a machine has.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-slow test-engines lint docs wheel clean

demo: $(VENV)/.demo
	$(BIN)/pairsift demo

test: $(VENV)/.test
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow

test-engines: $(VENV)/.engines
	$(BIN)/python -m pytest -m engines tests/engines

lint: $(VENV)/.test $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site, without a network: warnings are errors, all examples run, doctests pass, and links inside it lead somewhere.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b doctest -d docs/_build/doctrees docs docs/_build/doctest
	$(BIN)/pairsift report results.sqlite.xz -o docs/_build/html/report.html
	$(BIN)/python tools/check_site.py docs/_build/html

wheel: $(VENV)/.venv
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

.PHONY: campaign

# Every attack, fuzz target and sanitizer; the table goes into docs/trust.md. SHORT=1 makes few tries and writes nothing,
# JOBS=2 runs two at a time.
campaign: $(VENV)/.test
	$(BIN)/python -m pip install --quiet atheris cmake ninja "nanobind>=2.8"
	$(BIN)/python tools/campaign.py --jobs $(or $(JOBS),1) $(if $(SHORT),--short,--write docs/trust.md)

clean:
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/reference/generated

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.demo: $(VENV)/.venv $(SOURCES)
	$(BIN)/python -m pip install --quiet .
	touch $@

$(VENV)/.test: $(VENV)/.venv $(SOURCES)
	$(BIN)/python -m pip install --quiet ".[test]"
	touch $@ $(VENV)/.demo

$(VENV)/.engines: $(VENV)/.test
	$(BIN)/python -m pip install --quiet ".[test,spark,dask]"
	touch $@

$(VENV)/.docs: $(VENV)/.venv $(SOURCES)
	$(BIN)/python -m pip install --quiet ".[docs]"
	touch $@ $(VENV)/.test $(VENV)/.demo

$(VENV)/.lint: $(VENV)/.venv pyproject.toml
	$(BIN)/python -m pip install --quiet "ruff>=0.9" "mypy>=1.14"
	touch $@
