package probes

import (
	"bytes"
	"fmt"
	"strconv"
)

// parseSchedstat parses /proc/<pid>/task/<tid>/schedstat: seconds on a CPU and
// seconds runnable but waiting for one. Its numbers are nanoseconds and a count of time slices.
func parseSchedstat(data []byte) (run, delay float64, err error) {
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0, 0, fmt.Errorf("%w: schedstat %q", errParse, data)
	}
	var ns [2]uint64
	for i := range ns {
		if ns[i], err = strconv.ParseUint(string(fields[i]), 10, 64); err != nil {
			return 0, 0, fmt.Errorf("%w: schedstat: %w", errParse, err)
		}
	}
	return float64(ns[0]) / 1e9, float64(ns[1]) / 1e9, nil
}
