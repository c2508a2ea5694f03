package standin

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
)

// serveGoroutines is the model of virtual threads: every request has a cheap
// thread of its own, which blocks as ordinary code does. Both sides are
// net/http, the stack that a Go service has.
func serveGoroutines(ctx context.Context, ln *listener, s *service) error {
	client := s.httpClient()
	defer client.CloseIdleConnections()
	get := func(c *call) ([]byte, error) { return httpGet(client, c) }

	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if limit := s.cfg.KeepAliveRequests; limit > 0 {
				served := r.Context().Value(servedKey{}).(*int) // one request at a time on a connection
				if *served++; *served >= limit {
					w.Header().Set("Connection", "close")
				}
			}
			answer := s.answer([]byte(r.Method), []byte(r.URL.Path), get)
			w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer.body)))
			w.WriteHeader(answer.status)
			w.Write(answer.body) // a client that has gone needs no answer
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				ln.release()
			}
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	if s.cfg.KeepAliveRequests > 0 {
		server.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
			return context.WithValue(ctx, servedKey{}, new(int))
		}
	}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	return server.Serve(ln)
}

// servedKey finds the number of requests served on a connection.
type servedKey struct{}

// httpClient keeps every connection that it has ever needed. Go's defaults keep
// two idle ones per host, so a busy service would measure its own reconnects.
func (s *service) httpClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			MaxIdleConns:        0, // no limit
			MaxIdleConnsPerHost: 1 << 20,
			MaxConnsPerHost:     s.cfg.Pool,
			DisableCompression:  true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// httpGet makes the call without the client's context: a request whose client
// has gone is worked off, as in the other models.
func httpGet(client *http.Client, c *call) ([]byte, error) {
	answer, err := client.Get(c.url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode >= 400:
		return nil, statusError(answer.StatusCode)
	case len(body) > maxBody:
		return nil, errTooLarge
	}
	return body, nil
}
