# `make` alone lists what there is.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Which masters tests and the demo use: containers, processes or embedded. Unset: the best there are.
export CLUSTER

N         ?= 10
FUZZTIME  ?= 30s
SCHEDULES ?= 250000
SEED      ?=
TESTFLAGS ?=
MODULE    := github.com/quorumlock/go-redlock
MODULES   := . bench fence/sqltest tools
MEASURED  := redlock internal/node internal/quorum clock fence
SYSTEMS   := linux/386 darwin/arm64 windows/amd64

include scripts/cluster.mk

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: bin/redlock ## five masters, one lock, and what is left of it as they die (CLUSTER=containers, processes)
	@bin/redlock demo

.PHONY: test
test: bin/runtests ## everything, with the race detector, on the best masters there are
	@# Compiled on all cores, run one package after the other: bounds in milliseconds are held, and a core is theirs.
	@for dir in $(MODULES); do go -C $$dir list -race -export -test -deps ./... >/dev/null || exit 1; done
	@bin/runtests $(MODULES:%=-C %) -- -race -count=1 -p 1 -timeout 20m $(TESTFLAGS) ./...

.PHONY: flake
flake: bin/runtests ## N=10: the root's tests so many times; a failure or a skip fails
	@bin/runtests -runs $(N) -strict -- -race -count=1 -timeout 20m $(TESTFLAGS) .

.PHONY: lint
lint: bin/golangci-lint ## the linters of .golangci.yml, in every module
	@for dir in $(MODULES); do \
		(cd $$dir && $(CURDIR)/bin/golangci-lint run --config $(CURDIR)/.golangci.yml ./...) || exit 1; \
	done

.PHONY: fmt
fmt: bin/golangci-lint ## rewrite the sources as the linters want them
	@for dir in $(MODULES); do \
		(cd $$dir && $(CURDIR)/bin/golangci-lint fmt --config $(CURDIR)/.golangci.yml ./...) || exit 1; \
	done

.PHONY: cover
cover: bin/covergate ## fails where the packages' own tests reach less than 90 % of the statements of one
	@mkdir -p .cache
	@go test -count=1 -covermode=atomic -coverprofile=.cache/cover.out \
		-coverpkg=$(subst $() ,$(comma),$(MEASURED:%=./%)) $(MEASURED:%=./%)
	@bin/covergate -min 90 .cache/cover.out $(MEASURED:%=$(MODULE)/%)

.PHONY: bench
bench: ## side by side with its peers on five redis-server processes
	@go -C bench run . -json run.json -markdown ../docs/benchmarks.md

.PHONY: bench-contention
bench-contention: ## one hot key, callers and processes that wait for it, side by side with the peers
	@go -C bench run . contention -markdown ../docs/contention.md -plot ../docs/contention.svg

.PHONY: sim
sim: bin/sim ## SCHEDULES=250000: the real code in so many simulated worlds; SEED=clean:7 prints one
ifeq ($(SEED),)
	@cd internal/sim && $(CURDIR)/bin/sim -test.v -test.timeout 1h -test.run Assumptions -scenario clean -schedules $(SCHEDULES)
else
	@cd internal/sim && $(CURDIR)/bin/sim -test.run '^TestReplay$$' -seed $(SEED)
endif

.PHONY: ablation
ablation: bin/sim ## one assumption broken at a time: two holders are found, and the fence turns the late one away
	@cd internal/sim && $(CURDIR)/bin/sim -test.v -test.timeout 1h -test.run BrokenAssumption -schedules 5000
	@cd internal/sim && $(CURDIR)/bin/sim -test.v -test.timeout 1h -test.run Assumptions -scenario wide -schedules 5000

.PHONY: mutants
mutants: bin/mutants ## a table of seeded bugs, each of which the test it names must catch
	@bin/mutants

.PHONY: nemesis
nemesis: ## five redis-server processes under siege for some ten minutes, and a load that must not slow down
	@CLUSTER=processes REDLOCK_NEMESIS=full go test -count=1 -v -timeout 1h -run '^TestNemesis' .

.PHONY: soak
soak: ## a million cycles and 100,000 that fail, and nothing is left of them
	@REDLOCK_SOAK=1000000,100000 go test -count=1 -v -timeout 1h -run '^TestSoak' .

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME=30s
	@scripts/fuzz.sh $(FUZZTIME)

.PHONY: tidy-check
tidy-check: ## go.mod and go.sum of every module are as go mod tidy leaves them
	@for dir in $(MODULES); do go -C $$dir mod tidy -diff || exit 1; done

.PHONY: cross
cross: ## build and vet for the other systems
	@for system in $(SYSTEMS); do \
		echo $$system; \
		export GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0; \
		{ go build ./... && go vet ./... && go -C bench vet ./... && go -C fence/sqltest vet ./... && go -C tools vet ./covergate ./mutants ./runtests; } || exit 1; \
	done

.PHONY: verify
verify: lint tidy-check cross test cover ## all that must hold before a change is merged

# go build is always asked: it knows better than make whether anything is to be done.
.PHONY: bin/redlock bin/sim bin/runtests bin/covergate bin/mutants bin/golangci-lint
bin/redlock:
	@go build -o $@ ./cmd/redlock

bin/sim:
	@go test -c -o $@ ./internal/sim

bin/runtests bin/covergate bin/mutants:
	@go -C tools build -o ../$@ ./$(@F)

bin/golangci-lint:
	@go -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

comma := ,
