package probes

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const socketTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000010 00:00000000 00000000  1000        0 77001 1 0000000000000000 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000  1000        0 77009 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F91 00000000:0000 0A 00000000:00000001 00:00000000 00000000  1000        0 77003 1 0000000000000000 100 0 0 10 0
   3: 0100007F:1F90 0100007F:C350 01 00000000:000000FF 02:000004D2 00000000  1000        0 77002 2 0000000000000000 20 4 30 10 -1
`

func TestAcceptQueueAddsUpListeners(t *testing.T) {
	for port, want := range map[int]int64{8080: 18, 8081: 1} {
		if n, found, err := acceptQueue(strings.NewReader(socketTable), port); n != want || !found || err != nil {
			t.Errorf("port %d: %d, %v, %v; want %d", port, n, found, err, want)
		}
	}
	if _, found, err := acceptQueue(strings.NewReader(socketTable), 8082); found || err != nil {
		t.Errorf("port 8082: %v, %v", found, err)
	}
	if _, _, err := acceptQueue(strings.NewReader("head\n torn\n"), 1); !errors.Is(err, errParse) {
		t.Errorf("torn line: %v", err)
	}
}

func TestLiveAcceptQueue(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	port := ln.Addr().(*net.TCPAddr).Port
	fs := NewFS("")
	if runtime.GOOS != "linux" {
		if _, err := fs.AcceptQueue(port); !errors.Is(err, ErrNeedsLinux) {
			t.Errorf("%v", err)
		}
		return
	}
	for range 3 {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	var waiting int64
	for deadline := time.Now().Add(5 * time.Second); waiting != 3 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if waiting, err = fs.AcceptQueue(port); err != nil {
			t.Fatal(err)
		}
	}
	if waiting != 3 {
		t.Errorf("%d connections wait, want 3", waiting)
	}
	ln.Close()
	if _, err := fs.AcceptQueue(port); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end: %v", err)
	}
}
