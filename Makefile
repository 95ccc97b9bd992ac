# The one definition of how this tree is built and tested: .ci/run calls these
# targets. Everything that is built lands in .build/ and conformance/target/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

# Each has a go.mod of its own, so that what only tests and tools need stays out
# of the product's requirements.
modules := . tools conformance bench
checked := . conformance bench

FUZZTIME ?= 5000x

staticcheck := .build/staticcheck

# .ci/run empties it: what is compiled without -trimpath serves the tests as well.
buildflags ?= -trimpath

.PHONY: build
build: ## the binary: .build/kafsck
	CGO_ENABLED=0 go build $(buildflags) -o .build/kafsck .

.PHONY: fmt
fmt: ## gofmt has nothing to say
	@files=$$(gofmt -l .); if [[ -n $$files ]]; then echo "gofmt -w is needed:"; echo "$$files"; exit 1; fi

.PHONY: tidy
tidy: ## go.mod and go.sum of every module are as go mod tidy leaves them
	@for m in $(modules); do echo "tidy $$m"; go -C $$m mod tidy -diff; done

# With the tag, so that the tests that start brokers keep compiling.
.PHONY: vet
vet:
	@for m in $(checked); do echo "vet $$m"; go -C $$m vet -tags broker ./...; done

.PHONY: staticcheck
staticcheck: $(staticcheck)
	@for m in $(checked); do echo "staticcheck $$m"; (cd $$m && $(abspath $(staticcheck)) -tags broker ./...); done

$(staticcheck): tools/go.mod tools/go.sum
	go -C tools build -o ../$@ honnef.co/go/tools/cmd/staticcheck

.PHONY: lint
lint: fmt tidy vet staticcheck

.PHONY: layout
layout: ## imports, writers and package comments are as the table in internal/archtest says
	go test ./internal/archtest

# go test would have go vet look at everything a second time: it has a target of its own.
.PHONY: test
test:
	go test -vet=off ./...

# The packages that start goroutines or share memory between them: the detector can find
# nothing in the others. -short: less of what the test target does in full, where that is
# long.
.PHONY: race
race:
	CGO_ENABLED=1 go test -vet=off -race -short $$(grep -rlE --include='*.go' --exclude='*_test.go' --exclude-dir=conformance --exclude-dir=bench --exclude-dir=tools --exclude-dir=.build '\bgo func|\.Go\(|"sync("|/atomic)' . | xargs -n1 dirname | sort -u)

.PHONY: fuzz
fuzz: ## every fuzz target with FUZZTIME inputs
	.ci/fuzz $(FUZZTIME)

.PHONY: demo
demo: ## the README's first command
	go run . demo

.PHONY: conformance
conformance: ## against Kafka's own code (JDK 17, Maven)
	conformance/run.sh

.PHONY: conformance-full
conformance-full: ## and against running brokers
	conformance/run.sh --brokers

.PHONY: bench
bench: ## kafsck, a bare loop and kafka-dump-log over the same bytes
	bench/run.sh

.PHONY: ci
ci:
	.ci/run

.PHONY: clean
clean:
	rm -rf .build conformance/target

.PHONY: help
help:
	@grep -hE '^[a-z-]+:.*' $(MAKEFILE_LIST) | sed -E 's/:[^#]*(## )?/\t/' | expand -t 20
