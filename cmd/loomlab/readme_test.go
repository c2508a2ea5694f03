package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"loomlab/lab/experiment"
	"loomlab/lab/plan"
)

// fences returns the fenced blocks of a language in a Markdown text.
func fences(text, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// cutComment removes what a shell ignores at the end of a line.
func cutComment(line string) string {
	quote := rune(0)
	for i, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == '#' && (i == 0 || line[i-1] == ' '):
			return line[:i]
		}
	}
	return line
}

// readmeCommands returns the command lines of the sh blocks in a page.
func readmeCommands(t *testing.T, text string) (lines []string) {
	t.Helper()
	for _, block := range fences(text, "sh") {
		block = strings.ReplaceAll(block, "\\\n", " ")
		for line := range strings.Lines(block) {
			line = strings.TrimPrefix(strings.TrimSpace(cutComment(line)), "$ ")
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestReadme runs what README.md and the pages of docs show as far as that is
// quick: every `loomlab run` as a dry run, every make target as a name in the
// Makefile, the flags of all other commands through the code that reads them.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append([]string{filepath.Join(root, "README.md")}, pages...) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir()) // so that the experiment files of the page can be named by its commands
			writeReadmeExperiments(t, string(text))
			lines := append(readmeCommands(t, string(text)), workflowCommands(string(text))...)
			if len(lines) == 0 && filepath.Base(page) == "README.md" {
				t.Fatal("no ```sh block with a command")
			}
			for _, line := range lines {
				checkReadmeLine(t, line, string(makefile))
			}
		})
	}
}

func checkReadmeLine(t *testing.T, line, makefile string) {
	t.Helper()
	words, err := experiment.SplitWords(line)
	if err != nil {
		t.Errorf("%s: %v", line, err)
		return
	}
	switch {
	case words[0] == "make":
		for i, target := range words[1:] {
			if target == "-C" || words[i] == "-C" {
				continue
			}
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(makefile) {
				t.Errorf("%s: the Makefile has no target %s", line, target)
			}
		}
	case filepath.Base(words[0]) == "loomlab":
		args := words[1:]
		if at := slices.IndexFunc(args, func(word string) bool { return word == "&" || word == ">" }); at >= 0 {
			args = args[:at] // the rest is the shell's
		}
		checkReadmeCommand(t, line, args)
	}
}

// workflowCommands returns the run steps of the workflow files in a text.
func workflowCommands(text string) (lines []string) {
	for _, block := range fences(text, "yaml") {
		if !strings.Contains(block, "\njobs:\n") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?m)^ *- run: (.+)$`).FindAllStringSubmatch(block, -1) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// writeReadmeExperiments writes each complete experiment of the README to
// NAME.yaml and checks that it can be planned.
func writeReadmeExperiments(t *testing.T, text string) {
	t.Helper()
	name := regexp.MustCompile(`(?m)^name: *(\S+)$`)
	for _, block := range fences(text, "yaml") {
		m := name.FindStringSubmatch(block)
		if m == nil {
			continue // a part of one
		}
		file := m[1] + ".yaml"
		if err := os.WriteFile(file, []byte(block), 0o644); err != nil {
			t.Fatal(err)
		}
		exp, err := experiment.Load(file)
		if err == nil {
			_, err = plan.New(exp, plan.Options{}, plan.Facts{})
		}
		if err != nil {
			t.Errorf("the experiment %s: %v", m[1], err)
		}
	}
}

func checkReadmeCommand(t *testing.T, line string, args []string) {
	t.Helper()
	if len(args) > 0 && args[0] == "run" {
		var stdout, stderr bytes.Buffer
		status := run(context.Background(), append(args, "--dry-run"), strings.NewReader(""), &stdout, &stderr)
		switch {
		case status == exitUsage && (strings.Contains(stderr.String(), "no such JDK here") || strings.Contains(stderr.String(), "no JDK 21 or newer found")):
			t.Logf("SKIPPED: %s: this machine has no such JDK: %s", line, stderr.String())
		case status != exitOK:
			t.Errorf("%s: exit status %d: %s", line, status, stderr.String())
		case !strings.Contains(stdout.String(), "Command lines"):
			t.Errorf("%s: no plan in\n%s", line, stdout.String())
		}
		return
	}
	if err := parseOnly(args); err != nil {
		t.Errorf("%s: %v", line, err)
	}
}

// parseOnly reads the flags of a command as it does itself, and starts nothing.
func parseOnly(args []string) error {
	app := newApp(strings.NewReader(""), io.Discard, io.Discard)
	checks := map[string]cli.ActionFunc{
		"load":       func(c *cli.Context) error { _, err := loadConfig(c); return err },
		"downstream": func(c *cli.Context) error { _, err := downstreamConfig(c); return err },
		"standin":    func(c *cli.Context) error { _, err := standinConfig(c); return err },
	}
	for _, command := range app.Commands {
		command.Action = func(*cli.Context) error { return nil }
		if check := checks[command.Name]; check != nil {
			command.Action = check
		}
	}
	app.Action = func(c *cli.Context) error {
		if c.Args().Present() {
			return fmt.Errorf("unknown command %q", c.Args().First())
		}
		return nil
	}
	return app.RunContext(context.Background(), append([]string{app.Name}, flagsFirst(app, args)...))
}

func TestParseOnlyJudges(t *testing.T) {
	for line, ok := range map[string]bool{
		"load http://127.0.0.1:1/ -c 5 -d 1s": true,
		"load http://127.0.0.1:1/ -c 0":       false,
		"load -d 5 http://127.0.0.1:1/":       false,
		"downstream --fault sometimes":        false,
		"downstream --delay 5ms":              true,
		"standin --model fibers":              false,
		"report last --format csv":            true,
		"report --frobnicate":                 false,
		"frobnicate":                          false,
		"--version":                           true,
	} {
		if err := parseOnly(strings.Fields(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestReadmeCommandsAreFound(t *testing.T) {
	if got := workflowCommands("```yaml\non: push\njobs:\n  a:\n    steps:\n      - run: make build\n      - {uses: x}\n```\n"); !slices.Equal(got, []string{"make build"}) {
		t.Errorf("workflow commands %q", got)
	}
	text := "x\n```sh\nmake run # the table\nloomlab run --sut 'a=b #1 {{port}}' \\\n  --quick\n$ loomlab list\n# nothing\n```\n```yaml\nname: x\n```\n"
	got := strings.Join(readmeCommands(t, text), "|")
	if want := "make run|loomlab run --sut 'a=b #1 {{port}}'    --quick|loomlab list"; got != want {
		t.Errorf("commands %q, want %q", got, want)
	}
	if blocks := fences(text, "yaml"); len(blocks) != 1 || blocks[0] != "name: x\n" {
		t.Errorf("yaml blocks %q", blocks)
	}
}
