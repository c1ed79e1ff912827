# Two commands for a fresh machine with Python 3.11+, git and make:
#   make test        set up and run every check
#   make reproduce   set up and run the paper's study on what is available offline
# and   make robustness   the study of wrong labels
#       make docs         the site, in build/site
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# What the extra "gpu" needs, for the tests of it on CPU tensors
TORCH ?= torch>=2.4

.PHONY: test test-torch coverage dist release-dry docs fuzz fuzz-guided mutants reproduce robustness format benchmarks clean

test: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n auto --dist worksteal
	$(BIN)/python -m pytest -q --doctest-modules src/robell --ignore=src/robell/_core/membership/pairs_triton.py

test-torch: $(STAMP)
	$(BIN)/python -m pip install --quiet "$(TORCH)"
	$(BIN)/python -m pytest -q -n auto --dist worksteal tests/search/test_gpu.py tests/models/test_device.py tests/models/test_device_targets.py tests/models/test_device_noise.py

# Branch coverage of src, workers and runs of the command included; fails below 96 %.
coverage: $(STAMP)
	$(BIN)/python -m pip install --quiet --group coverage
	$(BIN)/python -m coverage erase
	$(BIN)/python -m coverage run -m pytest -q -n auto --dist worksteal
	$(BIN)/python -m coverage run -m pytest -q --doctest-modules src/robell --ignore=src/robell/_core/membership/pairs_triton.py
	$(BIN)/python -m coverage combine -q
	$(BIN)/python -m coverage html -q -d results/coverage
	$(BIN)/python -m coverage report --fail-under=96

# sdist and wheel in dist/, checked, and each used in a fresh environment.
dist: $(STAMP)
	$(BIN)/python -m pip install --quiet --group dist
	$(BIN)/python tests/check_dist.py

# All that a release does, but publishing: version and changelog, distributions, bill of materials,
# workflows, known weaknesses of the dependencies.
release-dry: $(STAMP)
	$(BIN)/python -m pip install --quiet --group release
	$(BIN)/python tests/check_dist.py --rehearse

# Odd inputs, files, options, kills of studies and of clusters: prints counts and how to repeat what
# failed. About an hour; ARGS="--calls 500 --files 50 --options 50 --kills 4 --clusters 5" is small.
fuzz: $(STAMP)
	$(BIN)/python fuzz/fuzz.py $(ARGS)

# Readers and writers under bytes chosen by the code they reach: a million of each, or five minutes.
# ARGS="csv --seconds 60" is one of them, for a minute.
fuzz-guided: $(STAMP)
	$(BIN)/python -m pip install --quiet --group fuzz
	$(BIN)/python fuzz/guided.py $(or $(ARGS),all)

# Small faults put into a copy of the core, and whether its quick tests notice: prints what survives
# and the score of each part. Some twenty minutes; ARGS="--part labels --mutants 20 --seed 1" is small.
mutants: $(STAMP)
	$(BIN)/python fuzz/mutants.py $(ARGS)

# Goes on where it was stopped. ARGS="--data-dir DIR" takes sets from a folder of CSV files; the
# command by itself, without --offline, also downloads what is nowhere else.
reproduce: $(STAMP)
	$(BIN)/robell reproduce --offline --out results/study $(ARGS)

# The label noise study; goes on where it was stopped. The usual peers on the reporting tables take
# about 5,000 CPU-seconds; ARGS="--peers all" adds tuned peers, 2,000 more. Without ARGS, or with
# --peers, the extra "peers" is installed first (XGBoost, CatBoost, explainable boosting).
robustness: $(STAMP)
	$(if $(or $(if $(ARGS),,all),$(findstring --peers,$(ARGS))),$(BIN)/python -m pip install --quiet --editable ".[peers]")
	$(BIN)/robell robustness --offline --out results/robustness $(ARGS)

# The site, in build/site: warnings are errors, lessons of the gallery run, links are followed, examples
# of the reference run. The second time only what has changed is run.
docs: $(STAMP)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/site
	$(BIN)/python docs/check.py build/site
	$(BIN)/python -m pytest -q --doctest-modules src/robell --ignore=src/robell/_core/membership/pairs_triton.py

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

benchmarks: $(STAMP)
	$(BIN)/python benchmarks/comparison.py
	$(BIN)/python benchmarks/coefficients.py
	$(BIN)/python benchmarks/fit_predict.py
	$(BIN)/python benchmarks/privileged_and_views.py
	$(BIN)/python benchmarks/membership.py
	$(BIN)/python benchmarks/granular.py
	$(BIN)/python benchmarks/search.py
	$(BIN)/python benchmarks/search_agreement.py
	$(BIN)/python fuzz/exact_loo.py 200
	$(BIN)/python benchmarks/left_out.py
	$(BIN)/python benchmarks/cross_validation.py
	$(BIN)/python benchmarks/search_growth.py
	$(BIN)/python benchmarks/which_model.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/partial_fit.py
	$(BIN)/python benchmarks/dask_fit.py
	$(BIN)/python benchmarks/noise_robust.py
	$(BIN)/python benchmarks/label_issues.py
	$(BIN)/python benchmarks/beyond_one_label.py probabilities
	$(BIN)/python benchmarks/beyond_one_label.py annotators
	$(BIN)/python benchmarks/wrong_numbers.py
	$(BIN)/python benchmarks/any_classifier.py
	$(BIN)/python benchmarks/any_regressor.py
	$(BIN)/python benchmarks/doubled_rows.py
	$(BIN)/python benchmarks/robust_choices.py
	$(BIN)/python benchmarks/calibration.py
	$(BIN)/python benchmarks/audit_trust.py --records results/audit_trust.jsonl

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "robell needs Python 3.11 or newer; set PYTHON=...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable ".[bench,robustness]" --group dev
	touch $(STAMP)

clean:
	rm -rf docs/gallery docs/api/generated docs/api/backreferences
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
