package probes

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// HardFDLimit is how many descriptors a process may open at most: the limit up
// to which every tier raises its own. 0 when it is not known.
func HardFDLimit() int64 {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int64(min(limit.Max, 1<<62))
}

// LocalPorts is the size of the range that outgoing connections take their
// ports from (/proc/sys/net/ipv4/ip_local_port_range); 0 when it is not known.
func (fs FS) LocalPorts() int {
	data, err := fs.read(fs.path("proc", "sys", "net", "ipv4", "ip_local_port_range"), nil)
	if err != nil {
		return 0
	}
	return parsePortRange(data)
}

func parsePortRange(data []byte) int {
	fields := bytes.Fields(data)
	if len(fields) != 2 {
		return 0
	}
	first, err1 := strconv.Atoi(string(fields[0]))
	last, err2 := strconv.Atoi(string(fields[1]))
	if err1 != nil || err2 != nil || last < first {
		return 0
	}
	return last - first + 1
}
