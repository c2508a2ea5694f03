package downstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// ServeLines serves like [Server.Serve] and writes the account as JSON lines
// meanwhile: "ready", then "stats" once a second, and "exit" last, when all
// connections are closed.
func (s *Server) ServeLines(ctx context.Context, w io.Writer) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	lines := json.NewEncoder(w)
	err := lines.Encode(s.stats("ready", false))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err == nil { // a reader that is gone does not end the service
				err = lines.Encode(s.stats("stats", true))
			}
		case failed := <-served:
			if err == nil {
				err = lines.Encode(s.stats("exit", false))
			}
			if failed == nil && err != nil {
				failed = fmt.Errorf("cannot write the account: %w", err)
			}
			return failed
		}
	}
}
