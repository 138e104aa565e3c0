# What a person needs: `make demo` and `make test`. Python 3.11+ and make are all that must be there.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The newest Neo4j that graphmem knows beside the one that it runs by default.
NEXT_NEO4J := 2026.08
# The processes of a test run share a Neo4j. ``auto`` is two processes for each core, as processes often wait; the
# files that take longest come first (all three: tests/conftest.py).
JOBS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations 15
# uv installs in seconds where pip takes minutes. Both show their progress; `make UV= demo` takes pip.
UV := $(shell command -v uv)
INSTALL := $(if $(UV),$(UV) pip install --python $(BIN)/python,$(BIN)/python -m pip --disable-pip-version-check install --progress-bar on)
# The locks hold every package, by its hash. Without a look at what packages ask for, none but these is installed.
LOCKED := $(INSTALL) --no-deps --require-hashes -r

# The first engine that answers. Podman and Buildah keep the health check of the image in Docker's format alone.
ENGINE ?= $(firstword $(foreach engine,docker podman buildah,$(shell $(engine) info >/dev/null 2>&1 && echo $(engine))))
IMAGE_FORMAT = $(if $(filter-out docker,$(ENGINE)),--format docker)
# More options of the build, such as --build-arg BASE=registry.example.org/python:3.11-slim-bookworm
IMAGE_OPTIONS ?=

# It checks the JavaScript of the page, and is fetched when it is needed.
TSC := npx --yes --package typescript@5.9.3 tsc

.DEFAULT_GOAL := help
.PHONY: help demo run test test-long image image-test check packages vendor sbom format snapshots bench lock clean

help: ## Show this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

# Hash-checked and without a build network: the lock holds everything, the build backend included.
$(VENV)/installed: locks/requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "graphmem needs Python 3.11 or newer: set PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Installing the locked dependencies into $(VENV): 140 MB to download, 510 MB on disk ..."
	@$(if $(UV),:,echo "uv is not installed: it would take seconds where pip takes minutes; $(PYTHON) -m pip install uv")
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(LOCKED) locks/requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/installed-dev: locks/requirements-dev.lock $(VENV)/installed
	@echo "Installing the locked development tools into $(VENV) ..."
	@$(LOCKED) locks/requirements-dev.lock
	@touch $@

demo: $(VENV)/installed ## Start a Neo4j, store examples/, show snapshots with provenance
	@$(BIN)/graphmem demo examples

run: $(VENV)/installed ## Serve REST and MCP on http://127.0.0.1:3080
	@$(BIN)/graphmem serve

test: $(VENV)/installed-dev ## Run the test suite on a real Neo4j
	@$(PYTEST) -m "not long"

test-long: $(VENV)/installed-dev ## Run everything, the long runs too, and much of it on the next Neo4j and over a sealed instance
	@GRAPHMEM_TEST_PROFILE=long $(PYTEST) --timeout 3600
	@env -u GRAPHMEM_TEST_NEO4J_URI GRAPHMEM_TEST_NEO4J_VERSION=$(NEXT_NEO4J) \
		$(PYTEST) -m "not long" tests/cypher tests/faces tests/dump
	@folder=$$(mktemp -d) && env -u GRAPHMEM_TEST_NEO4J_URI GRAPHMEM_TEST_SEALED=$$folder \
		$(PYTEST) -m "not long" tests/faces tests/reliability tests/dump; status=$$?; rm -rf $$folder; exit $$status

image: ## Build the image graphmem with docker, podman or buildah, whichever is there
	@test -n "$(ENGINE)" || { echo "No engine answers here: install docker, podman or buildah, or set ENGINE"; exit 1; }
	@$(ENGINE) build $(IMAGE_FORMAT) $(IMAGE_OPTIONS) --file docker/Dockerfile --tag graphmem .

image-test: $(VENV)/installed-dev ## Build the image, run it and what compose.yaml names without an engine (needs root, buildah, debootstrap)
	@GRAPHMEM_TEST_PROFILE=long $(BIN)/python -m pytest -ra --timeout 3600 tests/containers

check: $(VENV)/installed-dev ## Format, lint, types, import contracts, contract snapshots
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/basedpyright
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/python -m tests.contract.snapshots --check
	@$(BIN)/python packaging/make_packages.py --check
	@if $(TSC) --version >/dev/null 2>&1; then $(TSC) --project packaging/jsconfig.json; \
		else echo "The JavaScript of the page is not checked: npx cannot fetch TypeScript"; fi

packages: $(VENV)/installed-dev ## Make the Claude Code plugin, the MCP bundle, server.json and install links in dist/
	@$(BIN)/python packaging/make_packages.py

vendor: ## Fetch the libraries of the page anew, and check them by hash (needs npm)
	@$(PYTHON) packaging/vendor.py

sbom: ## List what the image and the packages are made of in dist/sbom.cdx.json (CycloneDX; needs uv)
	@mkdir -p dist
	@uv tool run --from 'cyclonedx-bom>=7,<8' cyclonedx-py requirements locks/requirements.lock --pyproject pyproject.toml \
		--output-reproducible -o dist/sbom.cdx.json

format: $(VENV)/installed-dev ## Format and sort imports
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

snapshots: $(VENV)/installed-dev ## Write the contract snapshots and docs/reference.md anew
	@$(BIN)/python -m tests.contract.snapshots --write

bench: $(VENV)/installed-dev ## Measure this machine: stores, snapshots, round trips, CPU, cold starts, sealing, credentials, floods, finding, encodings, copies
	@$(BIN)/python -m tests.bench.run
	@$(BIN)/python -m tests.bench.black_box
	@$(BIN)/python -m tests.bench.trips
	@$(BIN)/python -m tests.bench.cpu
	@$(BIN)/python -m tests.bench.stores
	@$(BIN)/python -m tests.bench.cold
	@$(BIN)/python -m tests.bench.sealed
	@$(BIN)/python -m tests.bench.credentials
	@$(BIN)/python -m tests.bench.flood
	@$(BIN)/python -m tests.bench.crowd
	@$(BIN)/python -m tests.bench.watchers
	@$(BIN)/python -m tests.bench.retrieval
	@$(BIN)/python -m tests.bench.hooks
	@$(BIN)/python -m tests.bench.receipts
	@$(BIN)/python -m tests.bench.encodings
	@$(BIN)/python -m tests.bench.copies

lock: ## Pin the dependencies anew (needs uv)
	uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 pyproject.toml --extra build --extra s3 -o locks/requirements.lock
	uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 pyproject.toml --extra build --extra s3 --extra fastembed --group dev -o locks/requirements-dev.lock

clean: ## Remove the virtual environment and caches (no data)
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
