package guard

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// removeSharedMemory removes the System V segments that processes made since
// then and nobody is attached to: they outlive a process that is killed, and
// PostgreSQL makes one. Reading /proc/sysvipc/shm is documented in proc(5).
func removeSharedMemory(creators []int, since time.Time) {
	file, err := os.Open("/proc/sysvipc/shm")
	if err != nil {
		return // a kernel without them
	}
	defer file.Close()
	column := map[string]int{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(column) == 0 { // the first line names the columns
			for i, name := range fields {
				column[name] = i
			}
			continue
		}
		number := func(name string) int {
			i, known := column[name]
			if !known || i >= len(fields) {
				return -1
			}
			n, _ := strconv.Atoi(fields[i]) // the kernel writes numbers
			return n
		}
		if slices.Contains(creators, number("cpid")) && number("nattch") == 0 && int64(number("ctime")) >= since.Unix() {
			_, _ = unix.SysvShmCtl(number("shmid"), unix.IPC_RMID, nil) // another user's stays
		}
	}
}
