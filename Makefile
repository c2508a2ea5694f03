# loomlab: one command each.
GO ?= go
BIN := bin/loomlab

.PHONY: build run test race lint bench verdicts chaos soak fuzz security jars dist clean

run: build ## reproduce the article: three SUTs, a ladder of connections, one table
	$(BIN) run article

build:
	$(GO) build -o $(BIN) ./cmd/loomlab

test: ## all tests; those of the real jars need a JDK 21+ and say so when there is none
	$(GO) test ./...

race: ## the same under the race detector
	$(GO) test -race ./...

lint: ## gofmt, vet, staticcheck, and a build for macOS
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	$(GO) vet ./...
	GOOS=darwin $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

bench: build ## the instrument against its peers, interleaved; says which peers are missing
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./loadgen/... ./downstream/...
	$(GO) run ./bench load
	$(GO) run ./bench downstream
	$(GO) run ./bench generators

SEEDS ?= 1,2
verdicts: build ## the matrix of labelled bottlenecks: does the lab name each? SEEDS=3,4 draws other parameters; JARS=--jars adds the real jars
	$(GO) run ./bench verdicts --seeds $(SEEDS) $(JARS)

ROUNDS ?= 200
SEED ?= 1
chaos: ## break ROUNDS runs at random moments and look at what is lost or left (20 minutes; `make test` has a short form); JARS=--jars takes the real jars too
	$(GO) run ./chaos --rounds $(ROUNDS) --seed $(SEED) $(JARS)

SOAK ?= 30m
soak: ## engine against downstream at 9500 connections for SOAK: flat memory and descriptors, nothing lost
	$(GO) run ./bench soak --duration $(SOAK)

FUZZTIME ?= 30s
fuzz: ## every fuzz target for FUZZTIME; what it finds stays in testdata/fuzz of its package, as a test
	@for f in $$(grep -rl --include='*_test.go' '^func Fuzz' .); do \
		for t in $$(sed -n 's/^func \(Fuzz[A-Za-z]*\)(.*/\1/p' $$f); do \
			$(GO) test -run '^$$' -fuzz "^$$t$$" -fuzztime $(FUZZTIME) $$(dirname $$f) || exit 1; \
		done; \
	done

# gosec's rules that are left out are about what this program is for: it starts
# the user's commands (G204, G702), reads and writes files and asks URLs that the
# user names (G107, G304, G703, G704), draws ports and orders at random (G404),
# calls the kernel (G103), converts counts that are far from their limits (G115),
# ignores errors where a comment says why (G104), lets others read reports and
# parent folders (G301, G302, G306; a run directory itself is private), and has
# servers on loopback whose only client is the lab (G112, G114). G602 takes arrays
# of a fixed length for slices that may be shorter.
security: ## known vulnerabilities, and gosec's other rules; both need a network
	$(GO) run golang.org/x/vuln/cmd/govulncheck@latest ./...
	$(GO) run github.com/securego/gosec/v2/cmd/gosec@latest -quiet -exclude=G103,G104,G107,G112,G114,G115,G204,G301,G302,G304,G306,G404,G602,G702,G703,G704 -exclude-dir=testdata ./...

jars: build ## build the SUT jars of testdata/apps into the user's cache folder
	$(BIN) build

dist: ## release archives for Linux and macOS with SHA256SUMS, the same bytes for the same commit and Go
	$(GO) run ./release

clean:
	rm -rf bin dist
