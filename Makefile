# Holdfast, one command each. Needs Python 3.11 or newer and make; everything else is installed into .venv.

PORT ?= 8000
HOST ?= 127.0.0.1
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input

# Tests start many processes, and each would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

# Stamps are named after what they stand for, so that a second start installs nothing and a changed lock installs again.
fingerprint = $(shell cat $(1) 2>/dev/null | cksum | tr -d ' ')
RUNTIME := $(VENV)/.runtime-$(call fingerprint,requirements.txt)
DEV := $(VENV)/.dev-$(call fingerprint,requirements-dev.txt)
PROJECT := $(VENV)/.project-$(call fingerprint,pyproject.toml)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test lint style types pytest audit figures chromium lock clean runtime dev

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

run: runtime ## Start everything on http://localhost:8000 (PORT=8001 for another port)
	@exec $(BIN)/python manage.py run --port $(PORT) --host $(HOST)

test: dev chromium ## Install what tests need, then every check and every test
	@$(MAKE) --no-print-directory style
	@# Types are checked while the tests run, many of which wait; what was found is shown behind them.
	@$(MAKE) --no-print-directory types >$(VENV)/types.log 2>&1 & types=$$!; failed=0; \
	$(MAKE) --no-print-directory pytest || failed=1; \
	wait $$types || failed=1; cat $(VENV)/types.log; exit $$failed

lint: style types ## Style, types, layers, migrations and production settings

style: dev
	@echo "== Style (ruff)"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: dev
	@echo "== Types (mypy --strict)"
	@$(BIN)/mypy
	@echo "== Layers (import-linter)"
	@$(BIN)/lint-imports --no-logo
	@echo "== Migrations and production settings (manage.py)"
	@sh tests/check-deployment.sh

pytest: dev ## Every test (ARGS="-k ladder" for some)
	@echo "== Tests (pytest)"
	@CHROMIUM="$(CHROMIUM)" $(BIN)/pytest --numprocesses auto $(ARGS)

audit: dev ## Ask the advisory databases for known weaknesses in what the server installs (needs the internet)
	@$(BIN)/uv tool run pip-audit --disable-pip --require-hashes --strict -r requirements.txt

figures: dev ## Run every experiment and draw docs/figures again
	@mkdir -p docs/figures
	@for name in $$($(BIN)/python -m research.experiments --names); do \
	  $(BIN)/python -m research.experiments $$name --figure docs/figures/$$name.svg --json docs/figures/$$name.json || exit 1; done

chromium:
	@CHROMIUM="$(CHROMIUM)" sh tests/browser/install-chromium.sh

lock: dev ## Compile the hashed requirements from pyproject.toml (UPGRADE=1 for newer versions)
	$(call compile,requirements.txt,--extra server)
	$(call compile,requirements-dev.txt,--extra server --extra dev)

clean: ## Remove .venv, caches and test artifacts; var/ with its data stays
	rm -rf $(VENV) artifacts build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

define compile
@$(BIN)/uv pip compile pyproject.toml $(2) --output-file $(1) $(if $(UPGRADE),--upgrade) --quiet --universal \
  --generate-hashes --no-emit-index-url --no-emit-find-links --python-version 3.11 --custom-compile-command "make lock"
endef

runtime: $(RUNTIME) $(PROJECT)
dev: $(DEV) $(PROJECT)

$(BIN)/python:
	@python=$$(for p in $(PYTHON) python3.11 python3.12 python3.13 python3; do \
	  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done); \
	if [ -z "$$python" ]; then \
	  echo "Holdfast needs Python 3.11 or newer and found none. Install it, or name one: make run PYTHON=/path/to/python3.11" >&2; exit 1; fi; \
	echo "Making $(VENV) with $$($$python --version)"; \
	$$python -m venv $(VENV) || { rm -rf $(VENV); \
	  echo "Python could not make a virtual environment. On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

# The second lock contains the first, so whoever has the second needs no more.
$(RUNTIME): | $(BIN)/python
	@if [ -e $(DEV) ]; then :; else echo "Installing requirements.txt (first start and changed requirements only)"; \
	  $(PIP) install -qq --require-hashes -r requirements.txt; fi
	@rm -f $(VENV)/.runtime-*
	@touch $@

$(DEV): | $(BIN)/python
	@echo "Installing requirements-dev.txt (first time and changed requirements only)"
	@$(PIP) install -qq --require-hashes -r requirements-dev.txt
	@rm -f $(VENV)/.dev-* $(VENV)/.runtime-*
	@touch $@ $(RUNTIME)

# The project itself, editable: the `holdfast` command lands in .venv/bin.
$(PROJECT): | $(BIN)/python
	@$(PIP) install -qq --no-deps --no-build-isolation --editable .
	@rm -f $(VENV)/.project-*
	@touch $@
