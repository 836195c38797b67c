# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` work on a fresh Debian or Ubuntu with git, make and python3; everything else is installed when it is missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
unexport PYTHONPATH PYTHONHOME VIRTUAL_ENV

VENV := .venv
# Their commands are the core's by entry points.
PACKAGES := packages/ioatlas-atlas packages/ioatlas-lab packages/ioatlas-translate
PIP := $(VENV)/bin/pip -q --disable-pip-version-check
NODE := PATH="$(CURDIR)/.venv/bin:$$PATH"
# The machine's Node when it is recent enough; scripts/node-setup puts one into .venv only when it is not.
WEB_SOURCES := $(shell find web -type f -not -path 'web/node_modules/*' -not -path 'web/test-results/*' -not -path 'web/dist/*' 2>/dev/null)
GROUPS_TEST := run test $(if $(CI),lab)

.PHONY: help setup setup-test web lint test test-all truth size demo playground schema docs man wheel deb fio-wheel one-file lock clean

help:
	@echo "make demo    set everything up, measure a scratch directory, say where the report is;  make playground  three maps of known storage and a page for fio's JSON, as static pages in .demo/playground"
	@echo "make test    set everything up, run the linters and tests;  make test-all  the long tests too: before a release"
	@echo "make setup   set up .venv/bin/ioatlas and the explorer"
	@echo "make web     build the explorer;  make lint  linters and types only;  make size  lines of code by room;  make truth  check against targets with known limits"
	@echo "make docs    build the documentation into site/, links checked"
	@echo "make schema  renew docs/campaign.schema.json and the pages of docs/reference made from the code;  make man  manual pages into build/man;  make wheel  build the packages;  make deb  a package for this Debian or Ubuntu;  make fio-wheel  a static fio as a package;  make one-file  both in one executable;  make lock  renew the lock files;  make clean  remove what was made here"

setup: $(VENV)/.run web
setup-test: $(VENV)/.test web

$(VENV)/bin/python:
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "setup: python3 is $$(python3 -V | cut -d" " -f2); 3.11 or newer is needed" >&2; exit 1; }
	@scripts/install-packages run
	@echo "setup: making the virtual environment .venv"
	@python3 -m venv $(VENV) || { rm -rf $(VENV); echo "setup: python3 could not make a virtual environment" >&2; exit 1; }

$(VENV)/.run: requirements.txt pyproject.toml $(PACKAGES:%=%/pyproject.toml) scripts/packages.apt | $(VENV)/bin/python
	@scripts/install-packages run
	@echo "setup: installing the Python packages"
	@$(PIP) install --require-hashes -r requirements.txt || { echo "setup: pip could not install requirements.txt" >&2; exit 1; }
	@$(PIP) install --no-deps --no-build-isolation -e . $(PACKAGES:%=-e ./%) || { echo "setup: pip could not install ioatlas" >&2; exit 1; }
	@touch $@

$(VENV)/.test: requirements-dev.txt $(VENV)/.run
	@scripts/install-packages $(GROUPS_TEST)
	@echo "setup: installing the Python packages for tests"
	@$(PIP) install --require-hashes -r requirements-dev.txt || { echo "setup: pip could not install requirements-dev.txt" >&2; exit 1; }
	@touch $@

# Another version of Python, for the numeric tests alone. Of pyenv's names only the chosen version starts.
$(VENV)/python3.%/.test: requirements.txt requirements-dev.txt
	@PYENV_VERSION=3.$* python3.$* -m venv --clear $(@D)
	@$(@D)/bin/pip -q --disable-pip-version-check install --require-hashes -r requirements.txt
	@$(@D)/bin/pip -q --disable-pip-version-check install --require-hashes -r requirements-dev.txt
	@touch $@

web: web/node_modules/.built

web/node_modules/.installed: web/package-lock.json web/package.json | $(VENV)/.run
	@scripts/node-setup
	@echo "setup: installing the front end's packages"
	@cd web && $(NODE) npm ci --no-audit --no-fund --loglevel=error </dev/null || { echo "setup: npm could not install web/package-lock.json" >&2; exit 1; }
	@touch $@

web/node_modules/.built: web/node_modules/.installed $(WEB_SOURCES)
	@echo "setup: building the explorer"
	@cd web && $(NODE) npm run --silent build </dev/null || { echo "setup: the explorer could not be built" >&2; exit 1; }
	@touch $@

test: setup-test
	@$(NODE) $(VENV)/bin/python scripts/run_tests.py

test-all: setup-test
	@scripts/install-packages lab
	@$(NODE) $(VENV)/bin/python scripts/run_tests.py --all

lint: setup-test
	@$(NODE) $(VENV)/bin/python scripts/run_tests.py --only lint

size: | $(VENV)/bin/python
	@$(VENV)/bin/python scripts/size.py

truth: setup-test
	@scripts/install-packages lab
	@$(VENV)/bin/python bench/truth/measure.py --seeds 5

playground: setup
	@scripts/playground

demo: setup
	@scripts/demo

schema: $(VENV)/.run
	@$(VENV)/bin/python scripts/reference.py

$(VENV)/.docs: requirements-docs.txt $(VENV)/.run
	@echo "setup: installing the Python packages for the documentation"
	@$(PIP) install --require-hashes -r requirements-docs.txt || { echo "setup: pip could not install requirements-docs.txt" >&2; exit 1; }
	@touch $@

docs: $(VENV)/.docs
	@$(VENV)/bin/python scripts/reference.py
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build -q
	@echo "docs: open site/index.html, or: python3 -m http.server -d site"

man: $(VENV)/.run
	@$(VENV)/bin/python scripts/man.py

wheel: setup-test man
	@for place in . $(PACKAGES); do $(VENV)/bin/python -m build --wheel --no-isolation --outdir dist $$place; done

deb: wheel
	@scripts/deb

fio-wheel: setup-test
	@PYTHON="$(CURDIR)/$(VENV)/bin/python" packages/ioatlas-fio/build dist

one-file: wheel fio-wheel
	@packages/one-file/build dist

lock: | $(VENV)/bin/python
	@scripts/lock

clean:
	rm -rf $(VENV) .demo dist build site web/node_modules web/test-results web/dist src/ioatlas/report/explorer
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src packages tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} +
