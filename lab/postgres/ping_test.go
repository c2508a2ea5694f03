package postgres

import (
	"io"
	"net"
	"strings"
	"testing"
)

// fakePostgres answers one connection with bytes.
func fakePostgres(t *testing.T, answer string) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		got := make([]byte, len(startupMessage("ann", "shop")))
		if _, err := io.ReadFull(conn, got); err == nil && string(got[4:8]) == "\x00\x03\x00\x00" {
			_, _ = io.WriteString(conn, answer)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

func TestPingPostgres(t *testing.T) {
	for answer, want := range map[string]string{
		"R\x00\x00\x00\x17\x00\x00\x00\x0aSCRAM-SHA-256\x00\x00":                "",
		"E\x00\x00\x00\x2aSFATAL\x00C57P03\x00Mstill starting up, wait\x00\x00": "still starting up",
		"HTTP/1.1 400 Bad Request\r\n\r\n":                                      "no PostgreSQL",
		"E\xff\xff\xff\xff":                                                     "no PostgreSQL",
		"":                                                                      "EOF",
		"E\x00\x00\x00\x06\x00\x00":                                             "without a message",
	} {
		err := Ping(t.Context(), nil, "127.0.0.1", fakePostgres(t, answer), "ann", "shop")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
	}
}
