package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rooms is the plan of the house. A line says which rooms a room may import;
// those that it does not name it may not. Everybody may import clock.
const rooms = `
	cmd/loomlab         → lab, lab/claim, lab/experiment, lab/guard, lab/java, lab/netns, lab/plan, lab/postgres, lab/record, lab/report, lab/standin, loadgen, downstream, probes
	lab                 → lab/claim, lab/experiment, lab/guard, lab/java, lab/jvm, lab/netns, lab/phrase, lab/plan, lab/postgres, lab/record, lab/tool, lab/verdict, probes, testdata
	lab/plan            → lab/experiment, lab/java, lab/jvm, lab/netns, lab/phrase, lab/postgres, lab/record, lab/verdict, probes
	lab/experiment      → lab/claim, lab/experiments, lab/java, lab/netns, lab/phrase, lab/postgres, lab/record, probes
	lab/experiments     →
	lab/claim           → lab/phrase, lab/record
	lab/verdict         → lab/phrase, lab/record, probes
	lab/guard           → lab/netns, probes
	lab/java            → lab/phrase, lab/record, lab/tool, testdata
	lab/jvm             → lab/java, lab/phrase, lab/record, lab/tool, probes
	lab/netns           → lab/record, probes
	lab/postgres        → lab/java, lab/netns, lab/phrase, testdata
	lab/phrase          →
	lab/tool            →
	lab/report          → lab/phrase, lab/record
	lab/record          → loadgen, downstream, probes
	lab/standin         → loadgen/http1
	loadgen             → loadgen/evloop, loadgen/http1
	downstream          → loadgen, loadgen/evloop, loadgen/http1
	loadgen/evloop      →
	loadgen/http1       →
	loadgen/http1/protocoltest →
	probes              →
	testdata            →
	clock               →
	bench               → lab, lab/java, lab/netns, loadgen, downstream, probes
	chaos               → lab/record, probes
	release             →
`

// onlyTypes are arrows over which only result types go: of the imported package
// nothing but the named things may be mentioned.
var onlyTypes = map[string][]string{
	"downstream → loadgen": {"Latency"},
}

const module = "loomlab"

// TestRooms holds every import in the module's packages (tests apart) to the plan.
func TestRooms(t *testing.T) {
	root := filepath.Join("..", "..")
	plan := parseRooms(t, rooms)
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if file != root && strings.HasPrefix(name, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		checkFile(t, root, file, plan, used)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for room := range plan {
		if !used[room] {
			t.Errorf("the plan has a room %s that holds no code", room)
		}
	}
}

// checkFile checks the imports of one file; build tags do not matter to it.
func checkFile(t *testing.T, root, file string, plan map[string][]string, used map[string]bool) {
	t.Helper()
	rel, err := filepath.Rel(root, file)
	if err != nil {
		t.Fatal(err)
	}
	room := path.Dir(filepath.ToSlash(rel))
	allowed, known := plan[room]
	if !known {
		t.Errorf("%s stands in %s, which is no room of the plan", rel, room)
		return
	}
	used[room] = true
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		to, own := strings.CutPrefix(imported, module+"/")
		if !own || to == "clock" {
			continue
		}
		if !slices.Contains(allowed, to) {
			t.Errorf("%s: %s may not import %s; it may import %s", rel, room, to, strings.Join(append(allowed, "clock"), ", "))
		}
		checkMentions(t, rel, parsed, to, onlyTypes[room+" → "+to])
	}
}

// checkMentions reports what a file says of a package beyond the allowed names.
func checkMentions(t *testing.T, file string, parsed *ast.File, imported string, names []string) {
	t.Helper()
	if names == nil {
		return
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		of, ok := selector.X.(*ast.Ident)
		if ok && of.Name == path.Base(imported) && !slices.Contains(names, selector.Sel.Name) {
			t.Errorf("%s: of %s only %s may be mentioned, not %s", file, imported, strings.Join(names, ", "), selector.Sel.Name)
		}
		return true
	})
}

func parseRooms(t *testing.T, text string) map[string][]string {
	t.Helper()
	plan := map[string][]string{}
	for line := range strings.Lines(text) {
		room, to, ok := strings.Cut(line, "→")
		if !ok {
			continue
		}
		plan[strings.TrimSpace(room)] = strings.FieldsFunc(to, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	}
	for room, to := range plan {
		for _, r := range to {
			if _, known := plan[r]; !known {
				t.Errorf("the plan lets %s import %s, which is no room", room, r)
			}
		}
	}
	return plan
}
