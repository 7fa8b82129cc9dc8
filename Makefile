# Everything needs only Python 3.11 or later, pip and make: the environments are made here.
PYTHON ?= python3
# The oldest Python that is supported runs the oldest versions of everything else.
OLDEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PYTEST := -m pytest -q -n 2 --dist worksteal
# Minutes of attacks, crashes and odd files, and a browser: run once, without measuring what they cover.
LONG := tests/browser tests/crash tests/fuzz tests/lab/audit
SHORT := $(addprefix --ignore=,$(LONG))
# In per cent of the lines, without what other processes run.
COVERAGE_FLOOR := 90
# For all readers together; an hour finds more.
SECONDS ?= 60
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check style format lint types imports coverage long crash fuzz test-core test-oldest wheel hooks pins audit clean

help: ## show this
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

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

# .venv-core and .venv-oldest: made anew, so that nothing stays from other versions.
$(VENV)-%/done: requirements/%.txt pyproject.toml
	rm -rf $(@D)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-deps --require-hashes -r $<
	$(@D)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

demo: $(VENV)/demo.done ## synthesize a built-in city with every method, with a picture
	$(BIN)/pointveil demo demo --force

test: $(VENV)/dev.done ## run the tests
	$(BIN)/python $(PYTEST)

check: style coverage long ## everything that must pass before a commit lands

style: format lint types imports ## format, lint, types, import contracts

format: $(VENV)/dev.done
	$(BIN)/ruff format --check .

lint: $(VENV)/dev.done
	$(BIN)/ruff check .

types: $(VENV)/dev.done
	$(BIN)/mypy

imports: $(VENV)/dev.done
	$(BIN)/lint-imports

coverage: $(VENV)/dev.done ## run all but the long tests, and tell which lines they never reach
	$(BIN)/python $(PYTEST) $(SHORT) --cov --cov-report=term --cov-fail-under=$(COVERAGE_FLOOR)

long: $(VENV)/dev.done ## run the long tests: the audit, crashes, odd files, and pages in a browser
	$(BIN)/python $(PYTEST) $(LONG)

crash: $(VENV)/dev.done ## break a release at every system call that touches a file (an hour; needs strace)
	$(BIN)/python -m tests.crash.laboratory

# Beside the other packages, which it uses.
$(VENV)-fuzz/done: requirements/fuzz.txt $(VENV)/dev.done
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target $(@D) -r $<
	touch $@

fuzz: $(VENV)-fuzz/done ## look for bytes that break a reader, for a minute or SECONDS=3600
	PYTHONPATH=$(VENV)-fuzz $(BIN)/python scripts/fuzz.py --seconds $(SECONDS)

test-core: $(VENV)-core/done ## run the short tests with no extra installed
	$(VENV)-core/bin/python $(PYTEST) $(SHORT) -m "not slow"

# Old libraries use what newer ones call deprecated; that is no fault here, and users are not shown it.
test-oldest: PYTHON := $(OLDEST_PYTHON)
test-oldest: $(VENV)-oldest/done ## run the short tests with the oldest versions that pyproject allows
	$(VENV)-oldest/bin/python $(PYTEST) $(SHORT) -m "not slow" -W ignore::DeprecationWarning

wheel: $(VENV)/demo.done ## build the wheel, install it elsewhere, and run the demo there
	sh scripts/try_wheel.sh $(BIN)/python

hooks: $(VENV)/dev.done ## run format, lint, types and import contracts before each commit of yours
	$(BIN)/pre-commit install

audit: $(VENV)/dev.done ## try for long to break every method's promise, and every mutant's
	$(BIN)/pointveil audit --runs 120 --persons --mutants --table audit.md --picture audit.png

pins: ## make requirements/*.txt anew from requirements/*.in and pyproject
	$(PYTHON) requirements/pin.py

clean: ## remove what make made
	rm -rf $(VENV) $(VENV)-core $(VENV)-oldest $(VENV)-fuzz demo dist build .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
