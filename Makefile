# Everything needs only Python 3.11 or later, pip and make: the environment is made here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check format lint types imports pins audit clean

help: ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

$(VENV)/demo.done: requirements/demo.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/demo.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/dev.done: requirements/dev.txt pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@ $(VENV)/demo.done

demo: $(VENV)/demo.done ## synthesize a built-in city with every method, with a picture
	$(BIN)/pointveil demo demo

test: $(VENV)/dev.done ## run the tests
	$(BIN)/python -m pytest -q -n 2 --dist worksteal

check: format lint types imports test ## everything that must pass

format: $(VENV)/dev.done
	$(BIN)/ruff format --check .

lint: $(VENV)/dev.done
	$(BIN)/ruff check .

types: $(VENV)/dev.done
	$(BIN)/mypy

imports: $(VENV)/dev.done
	$(BIN)/lint-imports

audit: $(VENV)/dev.done ## try for long to break every method's promise, and every mutant's
	$(BIN)/pointveil audit --runs 120 --persons --mutants --table audit.md --picture audit.png

pins: ## make requirements/*.txt anew from requirements/*.in
	$(PYTHON) requirements/pin.py

clean: ## remove what make made
	rm -rf $(VENV) demo dist build .mypy_cache .pytest_cache .ruff_cache .hypothesis
