# Everything runs in virtual environments that are made here from Python and the package index alone.
# `make help` lists the targets; `make test PYTHON=/path/to/python` chooses the interpreter.

.DEFAULT_GOAL := help
.PHONY: help docs demo test branches check pyright bench bench-static bad-inputs matrix corpus each-file packages commands reroll-models rewritten train fuzz fuzz-traps fuzz-models fuzz-unroll fuzz-runtime fuzz-checkpoints fuzz-reroll probes soundness mutants certificates other-tools precommit-test jupyterlab-test man wheel clean

# The first interpreter that runs (a pyenv shim may exist and not run), is new enough and can make environments. pyenv's
# versions are looked for where it says that they are, and where it is installed itself: without PYENV_ROOT it says ~/.pyenv.
# $(1): commands to try; $(2): the Python versions that will do, as a condition on sys.version_info.
find_python = $(shell root=$$(pyenv root 2>/dev/null || echo /nowhere); \
	pyenv=$$(command -v pyenv); own=$$(dirname "$$(dirname "$$(readlink -f "$$pyenv" 2>/dev/null || echo "$$pyenv")")"); \
	for python in $(1); do \
	for found in "$$python" "$$root"/versions/$${python#python}.*/bin/python "$$own"/versions/$${python#python}.*/bin/python; do \
	"$$found" -c 'import sys, ensurepip, venv; sys.exit(not ($(2)))' >/dev/null 2>&1 && echo "$$found" && exit; \
	done; done)

PYTHON ?= $(call find_python,python3.13 python3.12 python3.11 python3 python,sys.version_info >= (3$(comma) 11))
PYTHON_311 ?= $(call find_python,python3.11,sys.version_info[:2] == (3$(comma) 11))
PYTHON_313 ?= $(call find_python,python3.13,sys.version_info[:2] == (3$(comma) 13))
comma := ,

# Where Python is told to write no bytecode, each of the tests' processes would compile all files again: that took as long
# as all else that collecting the tests does, twice over.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
PARALLEL := --numprocesses auto --dist worksteal
# From Python 3.12 on lines are counted at next to no cost (PEP 669); counting in C made tests take two thirds longer.
CORE = $(shell $(BIN)/python -c "import sys; print('sysmon' if sys.version_info >= (3, 12) else 'ctrace')")
STAMP := installed
BIN := $(VENV)/bin

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/$(STAMP) ## rewrite a GPT in a temporary folder and prove the rewrite
	@demo/run $(abspath $(BIN))

test: $(VENV)/$(STAMP) ## the test suite, with the coverage gate
	COVERAGE_CORE=$(CORE) $(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term --cov-fail-under=95 $(ARGS)

branches: $(VENV)/$(STAMP) ## the test suite, slower, with the branches that no test takes
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-branch --cov-report=term $(ARGS)

check: $(VENV)/$(STAMP) ## lint, types and the rule catalogue
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_rules.py

pyright: $(VENV)/$(STAMP) ## what pyright finds in rewritten programs and not in the originals, and what it knows of stacks
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pyright
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m tests.emit.typechecked
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -q tests/nn/test_types.py

docs: .venv-docs/$(STAMP) ## the documentation as a site, in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	@echo "site/index.html"

# It has mkdocs alone: the reference is read from the sources, and nothing of them is imported.
.venv-docs/$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or later found; give its path with PYTHON=..." >&2; exit 1; }
	rm -rf .venv-docs
	"$(PYTHON)" -m venv .venv-docs
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	.venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

bench: $(VENV)/bench ## what is timed: the command's start, stacks of layers against loops (ARGS="--layers 4,12"), a jitted constructor, verification
	$(BIN)/python tests/benchmarks/start.py
	$(BIN)/python -m tests.benchmarks.runtime $(ARGS)
	$(BIN)/python -m tests.benchmarks.stack_costs
	$(BIN)/python -m tests.benchmarks.constructor
	$(BIN)/python -m tests.benchmarks.recorded
	$(BIN)/python -m tests.benchmarks.unequal
	$(BIN)/python -m tests.benchmarks.verification

bench-static: $(VENV)/bench ## what `check` costs on whole projects, against parsers and other tools (ARGS=FOLDER for one of yours)
	$(BIN)/python -m tests.benchmarks.static $(ARGS)

$(VENV)/bench: $(VENV)/$(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group bench
	@touch $@

corpus: $(VENV)/$(STAMP) ## labelled loops of published packages, downloaded, against what `check` says of them
	$(BIN)/python -m tests.corpus $(ARGS)

each-file: $(VENV)/$(STAMP) ## what `check` says of each file of those packages alone, against its part of what it says of all
	$(BIN)/python -m tests.corpus.each_file $(ARGS)

packages: .venv-313/$(STAMP) ## models of published packages, installed, rewritten or stacked by hand, and verified
	.venv-313/bin/python -m tests.packages $(ARGS)

commands: .venv-313/$(STAMP) ## public packages, each verified by one command of its own with --run
	.venv-313/bin/python -m tests.packages.commands $(ARGS)

reroll-models: .venv-models/$(STAMP) ## models of published packages, untouched and rerolled: what they cost, and whether they are right
	JAX_PLATFORMS=cpu .venv-models/bin/python -m tests.benchmarks.reroll_models $(ARGS)

# The models ask for Python 3.13.
.venv-models/$(STAMP): pyproject.toml tests/benchmarks/reroll_models/requirements.txt
	@test -n "$(PYTHON_313)" || { echo "make: no Python 3.13 found; give its path with PYTHON_313=..." >&2; exit 1; }
	rm -rf .venv-models
	"$(PYTHON_313)" -m venv .venv-models
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[jax]" "jax==0.12.*" "equinox==0.13.8"
	.venv-models/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement tests/benchmarks/reroll_models/requirements.txt
	@touch $@

rewritten: .venv-313/$(STAMP) ## published packages, rewritten as a whole: their imports and their own tests, before and after
	.venv-313/bin/python -m tests.rewritten $(ARGS)

train: $(VENV)/bench ## a small language model on real text, as a loop and as scans: losses, start to first step, memory (minutes)
	$(BIN)/python -m tests.training --plot docs/benchmarks/training.png $(ARGS)

fuzz: $(VENV)/$(STAMP) ## 5,000 projects made at random, with traps and without, each rewritten and held against itself
	$(BIN)/python -m tests.random_projects --count 5000 --seed 0 --jobs 2 $(ARGS)

fuzz-traps: $(VENV)/$(STAMP) ## every way to set each trap of the projects, held against a rewrite without a look
	$(BIN)/python -m tests.random_projects --genuine $(ARGS)

fuzz-unroll: $(VENV)/$(STAMP) ## 1,000 models made at random, rewritten and unrolled: each must be what it was
	$(BIN)/python -m tests.unroll --count 1000 $(ARGS)

fuzz-models: $(VENV)/$(STAMP) ## 5,000 models made at random, each rewritten and held against its own loop
	$(BIN)/python -m tests.random_models --count 5000 --seed 0 --workers 2 $(ARGS)

fuzz-runtime: $(VENV)/$(STAMP) ## 5,000 nestings of stacks made at random, each held against its own loop
	$(BIN)/python -m tests.random_stacks --count 5000 --seed 0 $(ARGS)

fuzz-checkpoints: $(VENV)/$(STAMP) ## 500 nests of stacks and ensembles made at random, converted and read back bit for bit
	$(BIN)/python -m tests.checkpoints.nests --count 500 --seed 0 $(ARGS)

fuzz-reroll: $(VENV)/$(STAMP) ## 5,000 programs in which layers repeat or nearly do, each rerolled and held against itself
	$(BIN)/python -m tests.random_rerolls --count 5000 --seed 0 $(ARGS)

probes: $(VENV)/$(STAMP) ## 2,000 real models in which one place counts, caches, draws or is patched: no rewrite called safe may differ
	$(BIN)/python -W ignore -m tests.probes --count 2000 --jobs 2 $(ARGS)

soundness: $(VENV)/$(STAMP) ## 10,000 pairs of programs and 2,000 of whole versions, equal and nearly equal: none that differs may be proved
	$(BIN)/python -m tests.soundness --pairs 10000 --seed 0 $(ARGS)
	$(BIN)/python -W ignore -m tests.soundness.versions --pairs 2000 --seed 0

mutants: $(VENV)/$(STAMP) ## every wrong rewrite that a verification must tell, and with the one check left out that tells it
	$(BIN)/python -m pytest -q $(PARALLEL) --whole tests/mutants $(ARGS)

certificates: $(VENV)/$(STAMP) ## 200 certificates of proofs with one field changed: all must be rejected
	$(BIN)/python -m tests.certificate.mutations $(ARGS)

matrix: .venv-311/$(STAMP) .venv-313/$(STAMP) ## the whole suite, with what samples leave out, on jax 0.10 with Python 3.11 and on jax 0.12 with Python 3.13
	.venv-311/bin/python -m pytest -q $(PARALLEL) --whole $(ARGS)
	.venv-313/bin/python -m pytest -q $(PARALLEL) --whole $(ARGS)

bad-inputs: $(VENV)/$(STAMP) ## what people give by mistake, by the hundred: no traceback, nothing lost (ARGS=WORDS for some)
	$(BIN)/python -m tests.bad_inputs $(ARGS)

wheel: ## the wheel, installed far from the checkout on Python 3.11 and 3.13, where it proves a rewrite
	tests/wheel.sh "$(PYTHON_311)" "$(PYTHON_313)"

other-tools: $(VENV)/$(STAMP) ## ruff, black and pyupgrade, each row of docs/other-tools.md tried with all of them and scanify
	rm -rf .venv-tools
	"$(PYTHON)" -m venv .venv-tools
	.venv-tools/bin/python -m pip install --quiet --disable-pip-version-check "ruff==0.17.6" "black[jupyter]==26.10.1" "pyupgrade==3.22.0"
	$(BIN)/python -m tests.other_tools .venv-tools/bin

precommit-test: $(VENV)/$(STAMP) ## the hooks, with the real pre-commit
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pre-commit
	SCANIFY_PRECOMMIT=1 $(BIN)/python -m pytest -q tests/test_precommit.py

jupyterlab-test: $(VENV)/$(STAMP) ## a rewritten notebook in the real JupyterLab, in headless Chromium
	$(BIN)/python -m pip install --quiet --disable-pip-version-check jupyterlab ipykernel websocket-client
	$(BIN)/python -m pytest -q --whole tests/notebooks/test_in_jupyterlab.py

man: $(VENV)/$(STAMP) ## the manual page, scanify.1, to be read with `man -l` and installed where others are
	$(BIN)/python -m scanify.manual > scanify.1

clean: ## remove the environments and caches
	rm -rf .venv .venv-311 .venv-313 .venv-docs .venv-models .venv-tools site .mypy_cache .pytest_cache .ruff_cache .coverage .coverage.*

# $(1): the environment, $(2): the variable that names the interpreter, $(3): what it should be, $(4): requirements
# beside the project's. The interpreter is looked for only when an environment has to be made.
define environment
$(1)/$(STAMP): pyproject.toml
	@test -n "$$($(2))" || { echo "make: no $(3) found; give its path with $(2)=..." >&2; exit 1; }
	rm -rf $(1)
	"$$($(2))" -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(1)/bin/python -m pip install --quiet --editable ".[jax]" --group test --group check $(4)
	$(1)/bin/python -m pip install --quiet --no-deps --group haliax --group flax --group schemas
	@touch $$@
endef

$(eval $(call environment,.venv,PYTHON,Python 3.11 or later,))
$(eval $(call environment,.venv-311,PYTHON_311,Python 3.11,"jax==0.10.*"))
$(eval $(call environment,.venv-313,PYTHON_313,Python 3.13,"jax==0.12.*"))
