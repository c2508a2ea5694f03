package probes

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/cpu"
	"github.com/shirou/gopsutil/v3/mem"
	"golang.org/x/sys/unix"
)

// Machine is where a run takes place. What cannot be had is empty or 0.
type Machine struct {
	Host        string
	OS          string
	Arch        string
	Kernel      string
	CPU         string // model
	Cores       int    // that this process may use
	MemoryBytes int64
	FDLimit     int64 // soft limit of this process, which its children inherit
	Libc        string
	THP         string            // transparent huge pages: always, madvise, never
	Env         map[string]string // variables that change JVMs and allocators
}

// ReadMachine describes this machine. It joins an error for each fact that it
// could not find, beside a Machine with all the others.
func ReadMachine() (Machine, error) {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(),
		Env: relevantEnv(os.Environ()),
	}
	var errs []error
	// Not gopsutil's host.Info: it starts lsb_release, a script of many processes.
	var err error
	if m.Host, err = os.Hostname(); err != nil {
		errs = append(errs, err)
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		errs = append(errs, err)
	} else {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	if list, err := cpu.Info(); err != nil {
		errs = append(errs, err)
	} else if len(list) > 0 {
		m.CPU = list[0].ModelName
	}
	if memory, err := mem.VirtualMemory(); err != nil {
		errs = append(errs, err)
	} else {
		m.MemoryBytes = int64(memory.Total)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		errs = append(errs, err)
	} else {
		m.FDLimit = int64(min(limit.Cur, 1<<63-1))
	}
	fs := NewFS("")
	if !fs.elsewhere() {
		m.THP = fs.hugePages()
		m.Libc = fs.libc()
	}
	return m, errors.Join(errs...)
}

// hugePages returns the word in brackets of "always [madvise] never".
func (fs FS) hugePages() string {
	data, err := os.ReadFile(fs.path("sys/kernel/mm/transparent_hugepage/enabled"))
	if err != nil {
		return ""
	}
	return parseHugePages(data)
}

func parseHugePages(data []byte) string {
	_, rest, _ := bytes.Cut(data, []byte("["))
	word, _, ok := bytes.Cut(rest, []byte("]"))
	if !ok {
		return ""
	}
	return string(word)
}

// libc tells glibc from musl by the dynamic loader that is installed, for the two give threads stacks and heaps of
// different sizes. With both installed it names both: which one a SUT uses is the SUT's matter.
func (fs FS) libc() string {
	var found []string
	for name, patterns := range map[string][]string{
		"glibc": {"lib*/ld-linux*.so.*", "lib/*/ld-linux*.so.*"},
		"musl":  {"lib/ld-musl-*.so.1"},
	} {
		for _, pattern := range patterns {
			if files, err := filepath.Glob(fs.path(pattern)); err == nil && len(files) > 0 {
				found = append(found, name)
				break
			}
		}
	}
	if len(found) == 2 {
		return "glibc, musl"
	}
	return strings.Join(found, "")
}

// relevantEnv picks the variables that silently change a JVM, its allocator or a Go program.
func relevantEnv(environ []string) map[string]string {
	names := map[string]bool{
		"JAVA_TOOL_OPTIONS": true, "JDK_JAVA_OPTIONS": true, "_JAVA_OPTIONS": true, "JAVA_OPTS": true, "JAVA_HOME": true,
		"LD_PRELOAD": true, "GLIBC_TUNABLES": true, "GOMAXPROCS": true, "GOGC": true, "GOMEMLIMIT": true, "GODEBUG": true,
	}
	picked := map[string]string{}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if names[name] || strings.HasPrefix(name, "MALLOC_") || strings.HasPrefix(name, "SPRING_") {
			picked[name] = value
		}
	}
	return picked
}
