package guard

import "syscall"

// raiseDescriptors lifts the soft limit of open files to the hard one, for this
// process and what it starts: a JVM does so by itself, but most servers take the
// soft limit, often 1024, for all there is. A Go program's children get the
// original limit back unless it has set one itself, which this does.
func raiseDescriptors() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return
	}
	limit.Cur = limit.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) // macOS refuses "unlimited": then the soft limit stays
}
