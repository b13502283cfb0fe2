# Needs Go 1.26+, Node 20+ with npm, and make. What else is missing is installed
# by .ci/install where that is allowed, and named where it is not.
.DEFAULT_GOAL := help
.PHONY: help build web run test soak bench bench-decode lint vuln fmt clean

TOOLS := bin/tools

# What tests, vet and lint need is compiled once, with the race detector, and
# shared by all three: from an empty cache that is the larger part of the time.
# A program with the race detector sleeps for a second when it ends, to hear of a
# race in its last moment; ten milliseconds do.
RACE := GORACE=atexit_sleep_ms=10 GOFLAGS='-race -buildvcs=false'

# one database server for all packages, whose dump is searched for secrets at the end
GO_TEST = $(RACE) go run ./server/pgtest/run -- go test -timeout 20m

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: web ## build bin/portillon with its pages
	go build -o bin/portillon ./cmd/portillon

web: web/node_modules/.package-lock.json ## bundle the three pages into web/dist
	@$(WITH) go run ./web/internal/webbuild >/dev/null

run: build ## start everything with a demo event; data in ./data or PORTILLON_DATA
	@.ci/install postgresql
	@PORTILLON_DATA="$${PORTILLON_DATA:-data}" exec bin/portillon demo

test: ## everything CI runs
	@.ci/install postgresql chromium compiler
	@$(call heading,pages)
	@$(MAKE) --no-print-directory web WITH="$(RACE)"
	@$(call heading,go vet)
	@$(RACE) go vet ./...
	@$(MAKE) --no-print-directory lint vuln
	@$(call heading,TypeScript: types)
	@cd web && for config in tsconfig.json tsconfig.worker.json tsconfig.test.json; do node_modules/.bin/tsc -p $$config || exit 1; done
	@$(call heading,TypeScript: tests)
	@$(RACE) go run ./web/internal/webbuild -tests
	@cd web && node --test --test-reporter=spec $$(find .test -name '*.test.mjs')
	@$(call heading,Go: tests with the race detector)
	@$(GO_TEST) -vet=off ./... # go vet has seen it all, above

soak: web ## the same Go tests with the large numbers
	@.ci/install postgresql chromium compiler
	@$(RACE) go run ./web/internal/webbuild -tests
	PORTILLON_SOAK=1 $(GO_TEST) -timeout 3h ./...

bench: build ## measure the functions, then the door beside pgbench; compare ratios of one run only
	@.ci/install postgresql
	go run ./server/pgtest/run -partial -- go test -run '^$$' -bench . -benchmem ./...
	@bin/portillon bench admissions

bench-decode: web/node_modules/.package-lock.json ## how much of what bad cameras see is read, beside other decoders; the last line is JSON
	@go run ./web/internal/webbuild -tests
	@cd web && node .test/bench/decode.bench.mjs

lint: $(TOOLS)/golangci-lint ## golangci-lint with .ci/golangci.yml
	@$(call heading,lint)
	@$(RACE) $(TOOLS)/golangci-lint run --config .ci/golangci.yml ./...

vuln: $(TOOLS)/govulncheck $(TOOLS)/vulndb/index/db.json ## known vulnerabilities that our code reaches, without network
	@$(call heading,known vulnerabilities)
	@cd .ci/tools && go run ./vulncheck -root ../.. -allow ../vuln-allow.txt -tools ../../$(TOOLS)

fmt: $(TOOLS)/golangci-lint ## format the Go code
	@$(TOOLS)/golangci-lint fmt --config .ci/golangci.yml

clean: ## remove what was built; never the data
	rm -rf bin web/node_modules web/.test web/.maps
	find web/dist -mindepth 1 -not -name .gitkeep -delete

define heading
printf '\n== %s ==\n' '$(1)'
endef

web/node_modules/.package-lock.json: web/package.json web/package-lock.json
	cd web && npm ci --no-progress
	@touch $@

# The tools are compiled from their own module and kept: the first time takes
# two to three minutes, later nothing.
$(TOOLS)/golangci-lint: .ci/tools/go.mod
	cd .ci/tools && go build -o ../../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/govulncheck: .ci/tools/go.mod
	cd .ci/tools && go build -o ../../$@ golang.org/x/vuln/cmd/govulncheck

# The database of vulnerabilities comes as a Go module like any other.
$(TOOLS)/vulndb/index/db.json: .ci/tools/go.mod
	cd .ci/tools && go mod download golang.org/x/vulndb && go run golang.org/x/vulndb/cmd/indexdb -vulns "$$(go list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out ../../$(TOOLS)/vulndb
