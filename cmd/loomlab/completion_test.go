package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"20260101T000000Z-article", "20260202T000000Z-hello"} {
		path := filepath.Join("runs", name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "run.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join("runs", "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	for line, want := range map[string]string{
		"":                             "run list doctor build report explain compare schema load downstream standin completion version help --help --version",
		"re":                           "report",
		"gua":                          "",
		"frobnicate ":                  "",
		"run art":                      "article",
		"run ./my":                     "", // a file: the shell knows them
		"run article --qui":            "--quick --quiet",
		"run --quick article --q":      "--quiet",
		"run --sut platform --su":      "--sut", // it repeats
		"run --sut ":                   "all platform virtual webflux",
		"run keepalive-trap --sut vir": "virtual-idle200 virtual",
		"run --delay ":                 "",
		"run --warmup n":               "none",
		"run --jfr ar":                 "article", // --jfr may stand alone
		"report --format ht":           "html",
		"compare --format=m":           "--format=markdown",
		"report --format = m":          "markdown", // as bash splits it
		"report --format =":            "table markdown csv json bench html svg hlog",
		"report ":                      "last 20260202T000000Z-hello 20260101T000000Z-article",
		"report --dir elsewhere ":      "",
		"run --resume 202602":          "20260202T000000Z-hello",
		"standin --model ev":           "event-loop",
		"load -":                       "--help -c -d -n -R --max-in-flight -m -H --body --target --no-keepalive --timeout --warmup --lead-in --hold --part --engine --loops --json --samples --hlog",
		"help sc":                      "schema",
		"completion ":                  "bash fish zsh",
	} {
		var got []string
		for _, c := range complete(app, strings.Split(line, " ")) {
			got = append(got, c.text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", line, strings.Join(got, " "), want)
		}
	}
}

// TestShellsComplete lets each shell that is here complete a line with its script.
func TestShellsComplete(t *testing.T) {
	program, err := exec.LookPath("loomlab")
	if err != nil {
		t.Fatal(err)
	}
	for shell, script := range map[string]string{
		"bash": `source "$1"; COMP_WORDS=("$2" report --format cs); COMP_CWORD=3; _loomlab; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh":  `compdef() { :; }; source "$1"; _describe() { printf '%s\n' "${found[@]%%:*}"; }; words=("$2" report --format cs); CURRENT=4; _loomlab`,
		"fish": `source $argv[1]; complete -C "$argv[2] report --format cs" | string split -f1 \t`,
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("SKIPPED: no %s on the PATH", shell)
			}
			file := filepath.Join(t.TempDir(), "loomlab.completion")
			if err := os.WriteFile(file, []byte(shells[shell]), 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{"-c", script, "sh", file, program}
			if shell == "fish" { // it counts no name among its arguments
				args = []string{"-c", script, file, program}
			}
			out, err := exec.Command(path, args...).CombinedOutput()
			if got := strings.TrimSpace(string(out)); got != "csv" {
				t.Errorf("%s completes %q (%v), want csv", shell, got, fmt.Sprint(err))
			}
		})
	}
}
