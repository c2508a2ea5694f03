//go:build unix

package evloop

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// needDescriptors raises the soft limit to the hard one and skips if that is not
// enough.
func needDescriptors(t *testing.T, n uint64) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Logf("cannot raise the descriptor limit: %v", err)
		unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	}
	if uint64(limit.Cur) < n {
		t.Skipf("NOT TESTED: needs %d descriptors, the limit is %d", n, limit.Cur)
	}
}

func openDescriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skipf("cannot count descriptors: %v", err)
	}
	return len(entries)
}

func TestNoDescriptorLeaks(t *testing.T) {
	eachKind(t, func(t *testing.T, kind string) {
		once := func() {
			t.Run("once", func(t *testing.T) {
				addr, _ := serve(t, kind, &scripted{data: echo})
				client := &scripted{opened: func(c *Conn) { c.Write([]byte("x")) }}
				done := make(chan struct{}, 50)
				client.data = func(*Conn, []byte) { done <- struct{}{} }
				start(t, kind, client, nil)
				client.do(t, func() {
					for range 50 {
						client.loop.Dial(addr, addr.Addr())
					}
				})
				for range 50 {
					receive(t, done)
				}
			})
		}
		once() // the runtime opens descriptors of its own
		before := openDescriptors(t)
		once()
		if after := openDescriptors(t); after > before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	})
}

// Out of descriptors, the listener rests, keeps serving and recovers. Runs in a
// child with a limit of its own.
func TestAcceptWithoutDescriptors(t *testing.T) {
	if kind := os.Getenv("EVLOOP_TEST_KIND"); kind != "" {
		acceptWithoutDescriptors(t, kind)
		return
	}
	eachKind(t, func(t *testing.T, kind string) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAcceptWithoutDescriptors$", "-test.v")
		cmd.Env = append(os.Environ(), "EVLOOP_TEST_KIND="+kind)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "recovered") {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

func acceptWithoutDescriptors(t *testing.T, kind string) {
	opened := make(chan *Conn, 100)
	h := &scripted{data: echo, opened: func(c *Conn) { opened <- c }}
	addr, ln := serve(t, kind, h)
	served := dial(t, addr)
	receive(t, opened)

	// The limit leaves exactly one descriptor: the client's end of the next
	// connection takes it, so accept finds none.
	hog, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	hogs := []*os.File{hog}
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		hogs = append(hogs, f)
	}
	hogs[0].Close()
	dial(t, addr)

	backoffs := int64(0)
	for deadline := time.Now().Add(patience); backoffs < 2; {
		if time.Now().After(deadline) {
			t.Fatalf("%d backoffs", backoffs)
		}
		time.Sleep(acceptBackoff)
		h.do(t, func() { backoffs = ln.Backoffs() })
	}
	served.Write([]byte("x"))
	if _, err := served.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the connected client is not served any more: %v", err)
	}
	if backoffs > 50 {
		t.Errorf("%d backoffs: accept spins", backoffs)
	}
	for _, f := range hogs[1:] {
		f.Close()
	}
	receive(t, opened)
	t.Log("recovered")
}

// Idle connections are the commonest thing in the lab: a Conn must stay small.
func TestConnIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size > 128 {
		t.Errorf("a Conn takes %d bytes", size)
	}
}
