//go:build !linux

package downstream

import (
	"os"

	"github.com/shirou/gopsutil/v3/process"
)

// rss asks the system for this process's resident memory; 0 when it does not say.
func rss() int64 {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return 0
	}
	m, err := p.MemoryInfo()
	if err != nil {
		return 0
	}
	return int64(m.RSS)
}
