# loomlab: one command each.
GO ?= go
BIN := bin/loomlab

.PHONY: build run test race lint bench verdicts jars clean

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

SEEDS ?= 1,2
verdicts: build ## the matrix of labelled bottlenecks: does the lab name each? SEEDS=3,4 draws other parameters; JARS=--jars adds the real jars
	$(GO) run ./bench verdicts --seeds $(SEEDS) $(JARS)

jars: build ## build the SUT jars of testdata/apps into the user's cache folder
	$(BIN) build

clean:
	rm -rf bin dist
