package guard

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A segment goes when its creator is named, it is new, and nobody is attached.
func TestRemoveSharedMemory(t *testing.T) {
	began := time.Now()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	if err != nil {
		t.Skipf("NOT TESTED: no System V shared memory here: %v", err)
	}
	defer func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) }()
	there := func() bool {
		var d unix.SysvShmDesc
		_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &d)
		return err == nil
	}
	memory, err := unix.SysvShmAttach(id, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	me := []int{os.Getpid()}
	removeSharedMemory(me, began)
	if !there() {
		t.Fatal("removed while somebody is attached")
	}
	if err := unix.SysvShmDetach(memory); err != nil {
		t.Fatal(err)
	}
	removeSharedMemory([]int{1}, began)
	removeSharedMemory(me, began.Add(time.Hour))
	if !there() {
		t.Fatal("removed though another process made it, or it is old")
	}
	removeSharedMemory(me, began)
	if there() {
		t.Fatal("still there")
	}
}
