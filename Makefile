# Everything a user or CI needs is a target here; `make` alone lists them.
SHELL := /bin/bash
BIN := .venv/bin
LAB := deploy/lab/lab

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.venv/.done: requirements.lock pyproject.toml
	@deploy/install python
	@test -x $(BIN)/python || python3 -m venv .venv
	@echo "installing the locked Python packages into .venv"
	@$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

venv: .venv/.done ## install the locked Python packages into .venv

run: venv ## serve both roles on this machine, on 127.0.0.1:9842
	@$(BIN)/rdma-gate serve

demo: venv ## boot two soft-RoCE machines, the gate and Prometheus, and show the gate page
	@$(BIN)/python -m deploy.demo

test: lint types imports ## run every check and test, the lab's too
	@deploy/install tests
	@$(BIN)/pytest

unit: venv ## run the tests that need no virtual machine and no cluster
	@$(BIN)/pytest -m "not lab and not kube"

lint: venv ## ruff: rules and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: venv ## mypy, strict on exporter and probes
	@$(BIN)/mypy

imports: venv ## import-linter: who may import whom
	@$(BIN)/lint-imports

alerts: venv ## check the alerting rules, runbooks and routes, with promtool and a real Alertmanager
	@$(BIN)/python -m alerts.lint
	@$(BIN)/pytest tests/alerts

kube-assets: venv ## build the kube-apiserver, etcd, controllers, scheduler and helm that the tests run, once
	@$(BIN)/python -m deploy.kube.assets

boards: venv ## build the Grafana boards and check them: layout, schema, and each query on a day of the lab
	@$(BIN)/python -m dashboards.build
	@$(BIN)/python -m dashboards.lint
	@$(BIN)/pytest tests/boards

chart: venv ## check the helm chart: values, security, rules and boards, and against a real API server
	@$(BIN)/pytest tests/deploy/chart

manifests: venv ## write deploy/manifests anew from the chart
	@$(BIN)/python -m tests.deploy.chart.manifests

image: venv ## build the container image with docker, podman or buildah (ARCHIVE=FILE: also write it there; FRESH=1: reuse nothing)
	@deploy/install image
	@$(BIN)/python -m deploy.image $(if $(ARCHIVE),--archive $(ARCHIVE)) $(if $(FRESH),--fresh)

lab-faults: venv ## break the lab in every known way and print what the gate says
	@$(BIN)/python -m deploy.faults

lab-k8s: venv ## make a real Kubernetes cluster of the lab, see the gate open, break it (ONLY="kubelet": some; KEEP=1: to look at)
	@deploy/install image
	@$(BIN)/python -m deploy.lab_k8s $(if $(KEEP),--keep) $(ONLY)

test-pages: venv ## break the lab under the shipped alerts and see who is told (an hour; ONLY=link-down,netem: some)
	@$(BIN)/python -m deploy.pages $(if $(ONLY),--only $(ONLY))

gpu-check: venv ## on a machine with GPUs: prove the GPU parts there, and print a table (NCCL_TESTS=directory)
	@$(BIN)/python -m deploy.gpu_check $(if $(NCCL_TESTS),--nccl-tests $(NCCL_TESTS))

bench: venv ## print scrape cost, memory, CPU and start-up time beside their peers
	@$(BIN)/python -m tests.bench

lock: venv ## write requirements.lock anew from pyproject.toml
	@$(BIN)/pip install --quiet pip-tools
	@$(BIN)/pip-compile --quiet --extra dev --generate-hashes --strip-extras --allow-unsafe --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --no-header --output-file requirements.lock pyproject.toml
	@sed -i '/./,$$!d' requirements.lock

lab-down: ## stop the lab's machines
	@$(LAB) down

clean: lab-down ## remove the environment and every cache in the tree
	@rm -rf .venv .run .mypy_cache .ruff_cache .pytest_cache .import_linter_cache

.PHONY: help venv run demo test unit lint types imports alerts chart manifests boards kube-assets image lab-faults lab-k8s test-pages gpu-check bench lock lab-down clean
