package java

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SelectJDK picks one of those found. want is a version ("21", "21.0.7"), a path
// (the home of a JDK or its java command), or empty for the newest. Only an empty
// want fails with [ErrNoJDK]: what was asked for by name is never replaced.
func SelectJDK(ctx context.Context, found []JDK, want string) (JDK, error) {
	switch {
	case want == "":
		if best, ok := newest(found, func(j JDK) bool { return j.Major >= MinJDK }); ok {
			return best, nil
		}
		return JDK{}, fmt.Errorf("%w (%s); install one, or name its folder with --jdk or JAVA_HOME", ErrNoJDK, listJDKs(found))
	case VersionPattern.MatchString(want):
		if majorOf(want) < MinJDK {
			return JDK{}, fmt.Errorf("--jdk %s is too old: the apps need %d or newer (%s)", want, MinJDK, listJDKs(found))
		}
		if best, ok := newest(found, func(j JDK) bool { return hasVersion(j.Version, want) }); ok {
			return best, nil
		}
		return JDK{}, fmt.Errorf("--jdk %s: no such JDK here (%s); name the folder of one, or install it", want, listJDKs(found))
	default:
		return jdkAt(ctx, want)
	}
}

// CompilerFor is the JDK that builds the apps for a run on the given one: itself
// or, if that is a JRE, the newest that has a compiler.
func CompilerFor(found []JDK, run JDK) (JDK, error) {
	if !run.JRE {
		return run, nil
	}
	best, ok := newest(found, func(j JDK) bool { return j.Major >= MinJDK && !j.JRE })
	if !ok {
		return JDK{}, fmt.Errorf("%v has no compiler, and there is no other JDK %d or newer to build the apps with (%s)", run, MinJDK, listJDKs(found))
	}
	return best, nil
}

// VersionPattern is a JDK's version as users write it: 21, 21.0.7.
var VersionPattern = regexp.MustCompile(`^\d+(\.\d+)*$`)

// hasVersion: 21 matches 21, 21.0.7 and 21-ea, but not 210.
func hasVersion(version, want string) bool {
	rest, ok := strings.CutPrefix(version, want)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], ".-+_"))
}

// jdkAt is the JDK of a path: its home, its java command, or a macOS bundle.
func jdkAt(ctx context.Context, path string) (JDK, error) {
	java := path
	for _, inside := range []string{"bin/java", "Contents/Home/bin/java"} {
		if candidate := filepath.Join(path, inside); IsExecutable(candidate) {
			java = candidate
		}
	}
	if !IsExecutable(java) {
		return JDK{}, fmt.Errorf("--jdk %s: neither a version, nor the home of a JDK, nor a java command", path)
	}
	java, err := filepath.Abs(java)
	if err != nil {
		return JDK{}, fmt.Errorf("--jdk %s: %w", path, err)
	}
	jdk := inspectJava(ctx, java, "--jdk")
	switch {
	case jdk.Problem != "":
		return JDK{}, fmt.Errorf("--jdk %s: %s", path, jdk.Problem)
	case jdk.Major < MinJDK:
		return JDK{}, fmt.Errorf("--jdk %s: %v is too old: the apps need %d or newer", path, jdk, MinJDK)
	}
	return jdk, nil
}

// newest prefers full JDKs to JREs, then higher versions, then the order found.
func newest(found []JDK, fits func(JDK) bool) (JDK, bool) {
	fitting := slices.DeleteFunc(slices.Clone(found), func(j JDK) bool { return j.Problem != "" || !fits(j) })
	if len(fitting) == 0 {
		return JDK{}, false
	}
	slices.SortStableFunc(fitting, func(a, b JDK) int {
		switch {
		case a.JRE && !b.JRE:
			return 1
		case b.JRE && !a.JRE:
			return -1
		}
		return compareVersions(b.Version, a.Version)
	})
	return fitting[0], true
}

// compareVersions orders 21.0.7 before 21.0.10, and 25-ea before 25.
func compareVersions(a, b string) int {
	numbers := func(v string) (parts []int) {
		v, _, _ = strings.Cut(v, "-")
		for part := range strings.FieldsFuncSeq(v, func(r rune) bool { return r < '0' || r > '9' }) {
			n, _ := strconv.Atoi(part)
			parts = append(parts, n)
		}
		return parts
	}
	if c := slices.Compare(numbers(a), numbers(b)); c != 0 {
		return c
	}
	return cmp.Compare(strings.Count(b, "-"), strings.Count(a, "-"))
}

func listJDKs(found []JDK) string {
	if len(found) == 0 {
		return "no Java at all"
	}
	names := make([]string, len(found))
	for i, j := range found {
		names[i] = j.String()
	}
	return "found " + strings.Join(names, ", ")
}
