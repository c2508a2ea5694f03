package java

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"loomlab/lab/phrase"
	"loomlab/lab/tool"
)

// ErrNoMaven says that there is no Maven to build the apps with: none on the
// PATH, and the wrapper could not fetch one.
var ErrNoMaven = errors.New("no Maven")

// mavenCommand is Maven on the PATH, or else the wrapper among the sources. Both
// are Maven's own shell scripts, the only ones that run here, and get words of
// ours alone.
func mavenCommand(sources string) (argv []string, onPath bool) {
	if mvn, err := exec.LookPath("mvn"); err == nil {
		return []string{mvn}, true
	}
	return []string{"sh", filepath.Join(sources, "mvnw")}, false
}

// MavenRun is one call of Maven, with the user's own settings and mirrors.
type MavenRun struct {
	What     string   // it does, for messages: "building the jars"
	Announce string   // is told before it begins; "%s" stands for which Maven it is
	JDK      JDK      // runs it
	Dir      string   // its working folder, where the wrapper mvnw lies
	Args     []string // goals and properties
	Log      func(string)
}

// packageApps packages the apps and what they are built on, into the target
// folders among the sources.
func packageApps(ctx context.Context, o BuildOptions, sources, logPath string) error {
	what, args := "the apps with Spring Boot "+o.Boot, []string{"-Dboot.version=" + o.Boot}
	switch {
	case o.contestant():
		what, args = o.App, []string{"--file", filepath.Join(frameworksFolder, "pom.xml")}
	case strings.HasPrefix(o.Boot, "3."):
		args = append(args, "-Pboot3")
	}
	return MavenRun{
		What: "building the jars", Dir: sources, JDK: o.JDK, Log: o.Log,
		Args:     append(args, "--projects", strings.Join(o.Apps, ","), "--also-make", "package"),
		Announce: fmt.Sprintf("building %s, with %v and %%s; a first build downloads its jars from Maven Central", what, o.JDK),
	}.Run(ctx, logPath)
}

// Run calls Maven. Its output goes to the file logPath, its progress to log, and
// its last words into the error.
//
// Note: it keeps the user's locale. With LC_ALL=C a JVM cannot open a path that
// is not ASCII, and the marks that are read here are the same in any language.
func (m MavenRun) Run(ctx context.Context, logPath string) error {
	log, err := os.Create(logPath)
	if err != nil {
		return fmt.Errorf("cannot keep Maven's output: %w", err)
	}
	defer log.Close()

	argv, onPath := mavenCommand(m.Dir)
	maven := argv[0]
	if !onPath {
		maven = "the Maven wrapper"
	}
	argv = append(argv, "--batch-mode", "--no-transfer-progress", "--strict-checksums", "-Dstyle.color=never")
	argv = append(argv, m.Args...)
	m.Log(fmt.Sprintf(m.Announce, maven))

	cmd := tool.Command(ctx, argv[0], argv[1:]...)
	cmd.Dir = m.Dir
	cmd.Env = append(os.Environ(), "JAVA_HOME="+m.JDK.Home, "PWD="+m.Dir)
	words := &mavenWords{log: m.Log, sources: m.Dir}
	said := io.MultiWriter(log, words)
	cmd.Stdout, cmd.Stderr = said, said
	err = tool.Run(cmd)

	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !onPath && !words.maven:
		return fmt.Errorf("%w on the PATH, and the wrapper could not fetch it (%w); install Maven 3.6.3 or newer:%s", ErrNoMaven, err, words.last())
	default:
		return fmt.Errorf("%s with Maven failed (%w); all it said is in %s:%s", m.What, err, logPath, words.last())
	}
}

// mavenWords is a writer that picks from Maven's output what a user wants to see.
type mavenWords struct {
	log     func(string)
	sources string   // the folder that is built; gone when the user reads of it
	partly  []byte   // a line that has not ended yet
	maven   bool     // Maven itself has spoken, not the wrapper alone
	advice  bool     // it has come to its general advice
	errors  []string // its [ERROR] lines without the advice
	tail    []string // the last lines of any kind
}

var mavenModule = regexp.MustCompile(`^\[INFO\] Building (\S+) .*\[(\d+)/(\d+)\]$`)

// mavenLines is how many lines an error shows; longestLine, in bytes, cuts what
// does not look like lines at all.
const (
	mavenLines  = 12
	longestLine = 4 << 10
)

func (w *mavenWords) Write(p []byte) (int, error) {
	for _, c := range p {
		if c == '\n' || len(w.partly) == longestLine {
			w.line(strings.TrimRight(string(w.partly), "\r"))
			w.partly = w.partly[:0]
		}
		if c != '\n' {
			w.partly = append(w.partly, c)
		}
	}
	return len(p), nil
}

func (w *mavenWords) line(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	text = strings.ReplaceAll(text, w.sources, "apps")
	w.maven = w.maven || strings.HasPrefix(text, "[")
	if m := mavenModule.FindStringSubmatch(text); m != nil {
		w.log(fmt.Sprintf("building %s (%s of %s)", m[1], m[2], m[3]))
	}
	rest, isError := strings.CutPrefix(text, "[ERROR]")
	w.advice = w.advice || strings.HasPrefix(rest, " To see the full stack trace")
	if isError && !w.advice && strings.TrimSpace(rest) != "" {
		w.errors = keepLast(w.errors, text)
	}
	w.tail = keepLast(w.tail, text)
}

func keepLast(lines []string, line string) []string {
	lines = append(lines, line)
	return lines[max(0, len(lines)-mavenLines):]
}

// last is the [ERROR] lines or, without any, the last lines, escaped and indented.
func (w *mavenWords) last() string {
	w.line(string(w.partly))
	lines := w.errors
	if len(lines) == 0 {
		lines = w.tail
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString("\n    " + phrase.Printable(line))
	}
	if b.Len() == 0 {
		return " it said nothing"
	}
	return b.String()
}
