# Everything needs only Python 3.11 or later, pip and make: the environments are made here.
PYTHON ?= python3
# The oldest Python that is supported runs the oldest versions of everything else.
OLDEST_PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
# Files of tests lie in memory, where there is enough: on a disk they wait for it longer than they compute.
MEMORY := $(shell test "$$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 4000000 2>/dev/null && echo /dev/shm)
IN_MEMORY := $(if $(MEMORY),TMPDIR=$(MEMORY))
# As the command has it: the threads of a library that waits by spinning take the time of others.
export OPENBLAS_NUM_THREADS := 1
PYTEST := -m pytest -q -n 2 --dist worksteal
# Minutes of attacks, crashes and odd files, a browser and servers: run once, without measuring what they cover.
LONG := tests/browser tests/crash tests/fuzz tests/lab/audit tests/privacy/test_crashes.py tests/servers
SHORT := $(addprefix --ignore=,$(LONG))
# What breaks our own code on purpose, computes with numpy alone or reads the docs: the same with any version and
# without extras.
OURS := tests/docs tests/lab tests/paper tests/privacy
# What tries code that needs no extra, as a contract in pyproject has it: the same without extras.
PLAIN := $(addprefix tests/,cells columns conformance estimate ground keeping network partition placement)
# In per cent of the lines, without what other processes run.
COVERAGE_FLOOR := 94
# For all readers together; an hour finds more.
SECONDS ?= 60
# Other inputs each time; with a number always the same ones.
SEED ?= 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test check style format lint types imports coverage docs crash fuzz test-engines test-core test-oldest wheel hooks pins audit clean

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

test: $(VENV)/dev.done ## run the tests: first the short ones, which must reach most lines, then the long ones
	$(IN_MEMORY) $(BIN)/python $(PYTEST) $(SHORT) --cov --cov-report= --cov-fail-under=$(COVERAGE_FLOOR)
	$(IN_MEMORY) $(BIN)/python $(PYTEST) $(LONG)

check: style test ## everything that must pass before a commit lands

style: format lint types imports ## format, lint, types, import contracts

format: $(VENV)/dev.done
	$(BIN)/ruff format --check .

lint: $(VENV)/dev.done
	$(BIN)/ruff check .

types: $(VENV)/dev.done
	$(BIN)/mypy

imports: $(VENV)/dev.done
	$(BIN)/lint-imports

coverage: $(VENV)/dev.done ## tell which lines the last `make test` did not reach
	$(BIN)/coverage report --show-missing

# As for fuzzing: beside the other packages. The notebooks are run, and what they charge goes to ledgers of their own.
$(VENV)-docs/done: requirements/docs.txt $(VENV)/dev.done
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target $(@D) -r $<
	touch $@

docs: $(VENV)-docs/done ## build the docs as a site, strictly: run the notebooks, follow every link, fetch nothing
	PYTHONPATH=$(abspath $(VENV)-docs) JUPYTER_PATH=$(abspath $(VENV)-docs)/share/jupyter NO_MKDOCS_2_WARNING=1 \
		$(BIN)/python -m mkdocs build --quiet

crash: $(VENV)/dev.done ## break a release at every system call that touches a file (half an hour; needs strace)
	$(BIN)/python -m tests.crash.laboratory

# Beside the other packages, which it uses.
$(VENV)-fuzz/done: requirements/fuzz.txt $(VENV)/dev.done
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target $(@D) -r $<
	touch $@

fuzz: $(VENV)-fuzz/done ## look for bytes that break a reader, for a minute or SECONDS=3600
	PYTHONPATH=$(VENV)-fuzz $(BIN)/python scripts/fuzz.py --seconds $(SECONDS) --seed $(SEED)

# As for fuzzing: beside the other packages. Servers and Spark are started by the tests, on this machine alone.
$(VENV)-engines/done: requirements/engines.txt $(VENV)/dev.done
	rm -rf $(@D)
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --target $(@D) -r $<
	touch $@

# The whole path: executors of Spark, which inherit it, work in folders of their own.
test-engines: $(VENV)-engines/done ## run the tests of S3, DuckDB, PostGIS and Spark (the last two if PostGIS and Java are installed)
	$(IN_MEMORY) PYTHONPATH=$(CURDIR)/$(VENV)-engines $(BIN)/python -m pytest -q tests/servers tests/formats/test_frames.py

test-core: $(VENV)-core/done ## run the short tests with no extra installed
	$(IN_MEMORY) $(VENV)-core/bin/python $(PYTEST) $(SHORT) $(addprefix --ignore=,$(OURS) $(PLAIN)) -m "not slow"

# Old libraries use what newer ones call deprecated; that is no fault here, and users are not shown it.
test-oldest: PYTHON := $(OLDEST_PYTHON)
test-oldest: $(VENV)-oldest/done ## run the short tests with the oldest versions that pyproject allows
	$(IN_MEMORY) $(VENV)-oldest/bin/python $(PYTEST) $(SHORT) $(addprefix --ignore=,$(OURS)) -m "not slow" -W ignore::DeprecationWarning

wheel: $(VENV)/demo.done ## build the wheel, install it elsewhere, and run the demo there
	sh scripts/try_wheel.sh $(BIN)/python

hooks: $(VENV)/dev.done ## run format, lint, types and import contracts before each commit of yours
	$(BIN)/pre-commit install

audit: $(VENV)/dev.done ## try for long to break every method's promise, and every mutant's
	$(BIN)/pointveil audit --runs 120 --persons --mutants --table audit.md --picture audit.png

pins: ## make requirements/*.txt anew from requirements/*.in and pyproject
	$(PYTHON) requirements/pin.py

clean: ## remove what make made
	rm -rf $(VENV) $(VENV)-core $(VENV)-oldest $(VENV)-fuzz $(VENV)-engines $(VENV)-docs site demo dist build .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis
