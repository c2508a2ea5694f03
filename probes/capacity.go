package probes

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"
	"golang.org/x/sys/unix"
)

// Capacity is what the machine, or the container around this process, can give
// now. A zero field is not known.
type Capacity struct {
	MemoryBytes    int64  // of the machine, or the control group's limit where that is less
	AvailableBytes int64  // of it, what can be had without swapping
	SoMaxConn      int    // longest accept queue that the kernel grants
	SYNBacklog     int    // connects that may be half open on one listener
	SYNCookies     bool   // connects beyond SYNBacklog are answered all the same
	TimeWaitReuse  string // tcp_tw_reuse: "0" never, "1" always, "2" on loopback; "" not known
	TimeWait       int64  // sockets in TIME_WAIT
}

// Capacity reads what can be had now.
func (fs FS) Capacity() Capacity {
	var c Capacity
	if memory, err := mem.VirtualMemory(); err == nil && fs.host() {
		c.MemoryBytes, c.AvailableBytes = int64(memory.Total), int64(memory.Available)
	}
	if fs.elsewhere() {
		return c
	}
	c.SoMaxConn, _ = strconv.Atoi(fs.sysctl("core/somaxconn"))
	c.SYNBacklog, _ = strconv.Atoi(fs.sysctl("ipv4/tcp_max_syn_backlog"))
	c.SYNCookies = fs.sysctl("ipv4/tcp_syncookies") > "0"
	c.TimeWaitReuse = fs.sysctl("ipv4/tcp_tw_reuse")
	if data, err := fs.read(fs.path("proc", "net", "sockstat"), nil); err == nil {
		c.TimeWait, _ = parseTimeWait(data) // 0: not known
	}
	c.confine(fs.memoryGroup())
	return c
}

// sysctl reads /proc/sys/net/name; "" where there is none.
func (fs FS) sysctl(name string) string {
	data, err := fs.read(fs.path("proc", "sys", "net", name), nil)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// memoryGroup is a control group's limit and what is used of it, page cache that
// can be dropped left out; 0 without a limit.
func (fs FS) memoryGroup() (limit, used int64) {
	groups, err := fs.read(fs.path("proc", "self", "cgroup"), nil)
	if err != nil {
		return 0, 0
	}
	for _, dir := range groupDirs(groups, "memory") {
		for _, names := range [][3]string{
			{"memory.max", "memory.current", "inactive_file"},
			{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
		} {
			limit, ok := fs.number(dir + "/" + names[0])
			if !ok {
				continue
			}
			used, _ := fs.number(dir + "/" + names[1])
			stat, _ := os.ReadFile(fs.path(dir, "memory.stat")) // without it the cache counts as used
			return limit, used - statValue(stat, names[2])
		}
	}
	return 0, 0
}

// number reads a file that holds one number; "max" is none.
func (fs FS) number(path string) (int64, bool) {
	data, err := os.ReadFile(fs.path(path))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	return n, err == nil
}

// statValue is the number after name in lines of "name number"; 0 where it is missing.
func statValue(data []byte, name string) int64 {
	for line := range bytes.Lines(data) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64) // 0: as if it were missing
			return n
		}
	}
	return 0
}

// confine lowers the memory to a control group's. Version 1 writes no limit as a
// number beyond any machine.
func (c *Capacity) confine(limit, used int64) {
	if limit <= 0 || limit > 1<<50 {
		return
	}
	if c.MemoryBytes == 0 || limit < c.MemoryBytes {
		c.MemoryBytes = limit
	}
	if left := max(0, limit-used); c.AvailableBytes == 0 || left < c.AvailableBytes {
		c.AvailableBytes = left
	}
}

// BusyCPUs is how many CPUs were busy on average between two samples; false
// where that is not to be had.
func BusyCPUs(before, after MachineSample) (float64, bool) {
	busy := minus(after.BusyS, before.BusyS)
	if busy == nil || after.At <= before.At {
		return 0, false
	}
	return *busy / (after.At - before.At), true
}

// DiskFree is how many bytes this user may still write below path; 0 where it is
// not known.
func DiskFree(path string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return 0
	}
	free := float64(s.Bavail) * float64(s.Bsize)
	return int64(min(free, math.MaxInt64/2))
}
