package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports of tiers lie below the range that Linux (from 32768) and macOS (from
// 49152) give to outgoing connections: thousands of those could take a tier's
// port between choosing and listening.
const (
	firstPort = 20000
	lastPort  = 32000
)

// freePort returns a loopback port that nobody listens on now.
func freePort() (int, error) {
	for range 200 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		l.Close()
		return port, nil
	}
	return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", firstPort, lastPort)
}
