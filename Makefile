# Two commands: `make demo` and `make test`. Both set up .venv themselves. `make bench` and `make speed` measure.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench speed speed-baseline clean

demo: $(VENV)/.demo
	$(BIN)/driftmap demo -o demo-output

test: $(VENV)/.test lint
	$(BIN)/python -m pytest
	$(BIN)/python -m benchmarks.speed

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

speed: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed

speed-baseline: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed --write

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Driftmap needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[plot]"
	@touch $@

$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[test]"
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
