//go:build !linux

package guard

import "syscall"

// BecomeSubreaper does nothing: there is no such thing here.
func BecomeSubreaper() {}

func isSubreaper() bool { return false }

// signalDescendants signals the child's process group, the best that is to be
// had without a subreaper: a descendant that made a group of its own escapes.
func signalDescendants(child int, s syscall.Signal) []int {
	_ = syscall.Kill(-child, s)
	return []int{child}
}
