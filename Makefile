# make demo    writes JSON with the shipped model        make test    runs the tests
# make test-thorough  runs those that take long: distributions, whole comparisons, training, notebooks
# make lint    ruff and mypy                             make clean   removes what these made
# make test-matrix  runs some tests with the oldest and the newest releases of other packages
# make bench   runs jsonschemabench, as in make bench ARGS='masks --help'
# All need only GNU make and Python >= 3.11 (PYTHON=... names another), and install into .venv.

PYTHON ?=
VENV   := .venv
BIN    := $(VENV)/bin
# on a terminal pip shows the size of what it loads, and how far it is
QUIET  := $$(test -t 2 || echo -qq)
PIP    := $(BIN)/python -m pip install $(QUIET) --disable-pip-version-check -c constraints.txt
INPUTS := pyproject.toml setup.py constraints.txt
# tests run in a process for each core, file by file; SPREAD= runs them in one
SPREAD ?= --numprocesses=logical --maxprocesses=4 --dist=loadfile

.PHONY: demo test test-thorough test-nojit test-matrix test-oldest test-newest lint bench clean
.DELETE_ON_ERROR:

demo: $(VENV)/.have-demo
	@$(BIN)/structgen demo

test: $(VENV)/.have-dev
	@$(BIN)/python -m pytest $(SPREAD) $(ARGS)

test-thorough: $(VENV)/.have-dev
	@$(BIN)/python -m pytest -m thorough $(SPREAD) $(ARGS)

test-nojit: $(VENV)/.have-dev
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m nojit $(SPREAD) $(ARGS)

# Environments of their own, each under its file of constraints, with few test tools; `make clean` and they take what is
# newest then. Warnings are errors as in other tests, so that names that will be gone show; only those of untested
# versions are expected. With --jobs=2 the oldest are tested while the newest are installed.
MATRIX   := $(VENV)-matrix
EXPECTED := ignore::structgen.errors.UntestedVersionWarning

test-matrix: test-oldest test-newest

test-oldest test-newest: test-%: $(MATRIX)/%/.have
	@$(MATRIX)/$*/bin/python -m pytest -m matrix -W $(EXPECTED) $(wildcard tests/generation/test_*.py) tests/integrations $(ARGS)

# one after the other: each installation writes to the same metadata folder
$(MATRIX)/oldest/.have: | $(VENV)/.have-dev
$(MATRIX)/newest/.have: | $(MATRIX)/oldest/.have

$(MATRIX)/%/.have: .ci/%.txt pyproject.toml | $(BIN)/python
	@echo "installing structgen with the $* releases of other packages into $(MATRIX)/$* (takes minutes)"
	@$(BIN)/python -m venv --clear $(MATRIX)/$*
	@$(MATRIX)/$*/bin/python -m pip install -qq --disable-pip-version-check --no-compile -c .ci/$*.txt \
	    -e '.[hf,pydantic]' 'pytest>=9' 'hypothesis>=6.100'
	@touch $@

lint: $(VENV)/.have-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy --strict

bench: $(VENV)/.have-bench
	@$(BIN)/python -m jsonschemabench $(or $(ARGS),--help)

clean:
	rm -rf $(VENV) $(VENV)-matrix build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find structgen kernels tests jsonschemabench -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.have-demo: $(INPUTS) | $(BIN)/python
	@echo "installing structgen with torch and transformers into $(VENV) (once; takes a few minutes)"
	@$(PIP) -e '.[hf,pydantic,notebooks]'
	@echo "$$(du -sh $(VENV) | cut -f1) are in $(VENV) now"
	@touch $@

$(VENV)/.have-dev: $(INPUTS) | $(BIN)/python
	@echo "installing structgen and its test tools into $(VENV) (once; takes a few minutes)"
	@$(PIP) -e '.[hf,pydantic,dev]'
	@touch $@ $(VENV)/.have-demo

$(VENV)/.have-bench: $(INPUTS) | $(BIN)/python
	@echo "installing structgen with the engines to compare it with into $(VENV) (once; takes a few minutes)"
	@$(PIP) -e '.[hf,bench]'
	@touch $@

# The first of these that is recent and was built with optimisations (Python runs up to twice as fast with
# them; pyenv leaves them out unless told), or else that is recent; an interrupted creation leaves nothing.
PYTHONS   := $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3)
RECENT    := import sys; assert sys.version_info >= (3, 11)
OPTIMISED := import ensurepip, sysconfig as s; \
             assert sys.base_prefix == '/usr' or '--enable-optimizations' in s.get_config_var('CONFIG_ARGS')

$(BIN)/python:
	@for check in "$(RECENT); $(OPTIMISED)" "$(RECENT)"; do \
	    for python in $(PYTHONS); do \
	        "$$python" -c "$$check" 2>/dev/null || continue; \
	        "$$python" -m venv $(VENV) && echo "$(VENV) is made with $$python" && exit 0; \
	        rm -rf $(VENV); \
	        echo "$$python could not create a virtual environment (on Debian: apt install python3-venv)" >&2; \
	        exit 1; \
	    done; \
	done; \
	echo "no Python >= 3.11 among $(PYTHONS): install one, or run 'make PYTHON=/path/to/python $(MAKECMDGOALS)'" >&2; \
	exit 1
