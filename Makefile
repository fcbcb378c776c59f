# Everything a newcomer types. Needs Python 3.11 or newer and make; the rest is installed into .venv, once.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help demo test test-cluster test-cluster-full check gen gen-proto gen-kueue bench

# The first interpreter that is new enough; `make PYTHON=/path/to/python3.12 test` chooses another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
UV_VERSION := 0.13.9
BIN := .venv/bin
READY := .venv/.ready
# The annotations of google/api and google/rpc come from the installed googleapis-common-protos.
SITE = $(shell $(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PROTOS = $(wildcard proto/fairgate_api/v1/*.proto)
OUT ?= proto
KUEUE_OUT ?= clients/kueue

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' Makefile

demo: $(READY) ## see fair sharing at work on this machine, in about three minutes
	@$(BIN)/fairgate demo

test: $(READY) ## run all tests that need no Kubernetes
	@# A real Ray wants the machine for itself. Both halves are run, whatever the first one finds; 5: no such tests.
	@trap 'exit 130' INT; failed=0; \
		$(BIN)/pytest -m "not ray and not cluster and not cluster_full" -n 2 --dist loadgroup || failed=1; \
		$(BIN)/pytest -m ray || [ $$? -eq 5 ] || failed=1; \
		exit $$failed

test-cluster: $(READY) ## run the tests on a real Kubernetes with Kueue and KubeRay: yours (KUBECONFIG), else its own
	@[ -n "$${KUBECONFIG:-}" ] || $(BIN)/python tests/cluster prepare
	@$(BIN)/pytest tests/cluster -m cluster

test-cluster-full: $(READY) ## the same, and those that take long
	@[ -n "$${KUBECONFIG:-}" ] || $(BIN)/python tests/cluster prepare
	@$(BIN)/pytest tests/cluster -m "cluster or cluster_full"

check: $(READY) ## format, lint, types, layers, wire contract, fresh generated code
	$(BIN)/uv lock --check --offline --quiet --default-index https://pypi.org/simple
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m grpc_tools.protoc -I proto -I "$(SITE)" --include_imports --include_source_info \
		--descriptor_set_out=.venv/fairgate.binpb $(PROTOS)
	$(BIN)/buf lint .venv/fairgate.binpb --config buf.yaml
	$(BIN)/pytest -q tests/tidy/test_stubs.py

gen: gen-proto gen-kueue ## regenerate what is generated: the protobuf stubs, the models of Kueue's objects

gen-proto: $(READY)
	@PATH="$(BIN):$$PATH" $(BIN)/python -m grpc_tools.protoc -I proto -I "$(SITE)" \
		--python_out="$(OUT)" --grpc_python_out="$(OUT)" --pyi_out="$(OUT)" --mypy_grpc_out="$(OUT)" $(PROTOS)

gen-kueue: $(READY)
	@# The generator leaves files behind that are no models; old models would stay.
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT; \
		JAVA_OPTS=-XX:TieredStopAtLevel=1 $(BIN)/openapi-generator-cli generate \
			-c clients/kueue/generator.yaml -o "$$folder" >"$$folder/log" 2>&1 || { cat "$$folder/log" >&2; exit 1; }; \
		rm -rf "$(KUEUE_OUT)/fairgate_kueue"; cp -R "$$folder/fairgate_kueue" "$(KUEUE_OUT)"; \
		rm -rf "$(KUEUE_OUT)/fairgate_kueue/api"

bench: $(READY) ## measure the scheduler (ONLY="submit large": some of it; KUEUE=1: beside Kueue; TRACE=FILE: a log, too)
	@$(BIN)/python tests/bench $(ONLY) $(if $(KUEUE),--kueue) $(if $(TRACE),--trace "$(TRACE)")

$(READY): pyproject.toml uv.lock
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed: install it, or name it: make PYTHON=..." >&2; exit 1; }
	@echo "Preparing .venv (once, and when the dependencies change) ..."
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	@$(BIN)/uv --version 2>/dev/null | grep -qF "uv $(UV_VERSION)" || \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@UV_PROJECT_ENVIRONMENT=.venv UV_PYTHON_DOWNLOADS=never \
		$(BIN)/uv sync --quiet --frozen --python $(BIN)/python --extra server --group dev
	@touch $@
