# Everything a person does here, one word each; bare `make` lists them.

.DEFAULT_GOAL := help
.PHONY: help setup demo lint chromium java latex peers test golden crowd promises bench docs notebooks site site-check \
	dist sbom pictures clean
SHELL := /bin/sh

PYTHON := .venv/bin/python
# The machine's own Python, 3.11 or newer; one is never downloaded.
PYTHON_RANGE := >=3.11
# uv from PATH if it runs there, otherwise our own in a folder of the project.
UV := $(shell uv --version >/dev/null 2>&1 && echo uv || echo .venv-uv/bin/uv)
OWN_UV := $(filter .venv-uv/bin/uv,$(UV))
RUN_UV := UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=.venv $(UV)

help:
	@echo "make what?"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1@\2/p' $(MAKEFILE_LIST) | while IFS=@ read -r target text; do \
		printf '%-18s %s\n' "$$target" "$$text"; done

setup: .venv/.made ## make .venv with everything that running and testing needs

# Compiled once: processes that tests start otherwise compile everything again where Python may write no bytecode.
.venv/.made: pyproject.toml uv.lock | $(OWN_UV)
	$(RUN_UV) sync --frozen --compile-bytecode --python '$(PYTHON_RANGE)'
	$(PYTHON) -m compileall -q src
	@touch $@

# Debian ships python3 without ensurepip, and then `python3 -m venv` cannot work.
.venv-uv/bin/uv:
	@if ! python3 -c 'import ensurepip' 2>/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update && apt-get install --yes python3-venv; \
		else \
			echo "python3 cannot make environments here (it has no ensurepip)."; \
			echo "Hint: run 'sudo apt-get install python3-venv', or install uv, then 'make setup' again."; \
			exit 1; \
		fi; \
	fi
	python3 -m venv .venv-uv
	.venv-uv/bin/python -m pip install uv

demo: setup ## evaluate the predictions in examples/diabetes.csv
	.venv/bin/heldout evaluate examples/diabetes.csv

# Types of tensors are those of torch.
lint: setup peers ## style, types and the direction of imports
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

# CHROMIUM=/path/to/it where the browser has another name; make hands what it is given on to what it runs.
chromium: setup ## install the browser that the tests need, where it is missing and may be installed
	@$(PYTHON) -m tests.programs chromium

# JAVA_HOME=/folder/of/it where Java is not on the path.
java: setup ## install the Java that Spark needs, where it is missing and may be installed
	@$(PYTHON) -m tests.programs java

# PDFLATEX=/path/to/it where pdflatex has another name.
latex: setup ## install the pdflatex that the tests need, where it is missing and may be installed
	@$(PYTHON) -m tests.programs latex

peers: .venv/.peers ## install torch and the libraries whose jobs the tests do beside ours

.venv/.peers: tests/peers.txt .venv/.made
	$(PYTHON) -m pip install --quiet -r tests/peers.txt
	@touch $@

# Browser, Java and pdflatex are looked for first: what is missing is said before the long part begins.
test: chromium java latex peers ## everything that must pass: lint beside every test and example
	$(PYTHON) tests/all_runs.py

golden: setup ## record anew what users see (tests/golden/expected), where a change of it is meant
	$(PYTHON) tests/golden/record.py

crowd: setup ## send a server 1,100 requests that never end and 20 files that unpack to much, beside 50 users (minutes)
	$(PYTHON) -m tests.web.crowd

promises: setup ## measure again what intervals cover and how often tests reject; goes on where it was (hours)
	$(PYTHON) -m tests.promises

.venv-bench/.made: pyproject.toml benchmarks/requirements.txt | $(OWN_UV)
	$(RUN_UV) venv --allow-existing --seed --python '$(PYTHON_RANGE)' .venv-bench
	.venv-bench/bin/python -m pip install -r benchmarks/requirements.txt -e .
	@touch $@

bench: .venv-bench/.made ## time us against our peers, interleaved (long); writes benchmarks/results/
	.venv-bench/bin/python -m benchmarks

docs: setup ## write docs/measures.md, findings.md, lab.md and jobs.md from the declarations
	$(PYTHON) docs/measures_page.py
	$(PYTHON) docs/course_pictures.py
	$(PYTHON) docs/findings_page.py
	$(PYTHON) docs/lab_page.py
	$(PYTHON) docs/jobs_page.py

notebooks: setup ## run the notebooks in docs/notebooks and keep what their cells print
	$(PYTHON) docs/notebook_runs.py

# Offline and strict: a broken link, a page that is missing or an example that fails fails it.
site: setup ## build the documentation into build/site (about two minutes); open build/site/index.html
	$(PYTHON) -m docs.website build/site

site-check: site chromium ## look at every page of the site in the browser: links, requests, axe-core at three widths (minutes)
	CHROMIUM="$$($(PYTHON) -m tests.programs chromium)" $(PYTHON) -m tests.site build/site

# The wheel is installed beside nothing else, so that a package that only tests have is not taken for granted.
dist: setup ## build wheel and sdist into dist/, check them, and try every command in an environment of its own
	rm -f dist/*.whl dist/*.tar.gz
	$(PYTHON) -m build --no-isolation --outdir dist
	$(PYTHON) -m twine check --strict dist/*.whl dist/*.tar.gz
	$(PYTHON) tests/clean_install.py dist $(UV)

sbom: setup ## write the list of parts with their licences (CycloneDX) to dist/heldout.cdx.json
	$(PYTHON) docs/sbom.py dist/heldout.cdx.json

pictures: setup chromium ## photograph the page and a notebook for the documentation
	CHROMIUM="$$($(PYTHON) -m tests.programs chromium)" $(PYTHON) docs/page_pictures.py
	CHROMIUM="$$($(PYTHON) -m tests.programs chromium)" $(PYTHON) -m tests.jupyter docs

clean: ## remove environments, caches and built files
	rm -rf .venv .venv-bench .venv-uv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
