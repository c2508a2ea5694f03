package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"loomlab/lab/netns"
	"loomlab/lab/phrase"
	"loomlab/lab/record"
)

const (
	readyInterval = 200 * time.Millisecond // at most 5 polls a second, one at a time: hot polling has frozen virtual-thread apps
	readyAttempt  = 2 * time.Second        // to wait for an answer about a server that runs
	// readyPatience is how long one poll may wait: a first answer can take seconds,
	// and a second poll beside it would be two at a time.
	readyPatience = 5 * time.Second
)

// prober asks a SUT for single answers: readiness, the first request, what the
// app says of itself. One connection per request, never reused.
type prober struct {
	base   string // http://127.0.0.1:port
	client *http.Client
	site   *site // from where to ask; nil: from here
}

func newProber(base string) *prober {
	return &prober{base: strings.TrimSuffix(base, "/"), client: &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, Proxy: nil},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect is its own status
		},
	}}
}

// get fetches a path; body is cut at 1 MiB. The error is one of connection or time.
func (p *prober) get(ctx context.Context, path string, limit time.Duration) (answer, error) {
	if p.site != nil {
		return p.site.get(ctx, p.base, path, limit)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path, nil)
	if err != nil {
		return answer{}, err
	}
	sent := time.Now()
	resp, err := p.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return answer{resp.StatusCode, body, time.Since(sent)}, err
}

// answer is what a question to a tier brought.
type answer struct {
	status int
	body   []byte
	took   time.Duration
}

// awaitReady polls the SUT until it answers twice in a row as ready asks, and
// returns how long after since the first of the two came. It fails as soon as
// it is clear that this will not happen: the child ended, it listens elsewhere,
// its port belongs to somebody else, or it keeps answering something else.
// t and tree are nil for a SUT that runs already; then nobody listening is an
// answer at once. Whose the port is cannot be told where port is 0.
func awaitReady(ctx context.Context, p *prober, ready record.Ready, port int, t *tier, tree processTree, since time.Time) (time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if t != nil {
		go func() {
			select {
			case <-t.done:
				cancel(errEnded)
			case <-ctx.Done():
			}
		}()
	}
	limit := time.Duration(ready.Timeout)
	want := ready.Status
	if want == 0 {
		want = http.StatusOK
	}
	elsewhere := elsewhereRule{port: port}
	var first time.Time
	wrong, last := 0, "it never listened"
	for {
		left := max(limit-time.Since(since), readyInterval)
		a, err := p.get(ctx, ready.Path, min(readyPatience, left))
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, errEnded) {
				return 0, fmt.Errorf("the SUT %s before it was ready%s", t.cause(), t.lastWords())
			}
			return 0, cause
		}
		now := time.Now()
		switch {
		case err == nil && a.status == want:
			if !first.IsZero() {
				return first.Sub(since), ownsPort(tree, port)
			}
			first = now
		case err == nil:
			first = time.Time{}
			last = fmt.Sprintf("GET %s answered %d, not %d", ready.Path, a.status, want)
			// 404 and 503 are how frameworks say "not yet".
			if a.status == http.StatusNotFound || a.status == http.StatusServiceUnavailable {
				wrong = 0
			} else if wrong++; wrong == 5 {
				return 0, fmt.Errorf("%s, five times in a row: %s", last, excerpt(a.body))
			}
		default:
			first = time.Time{}
			last = notReady(err)
			if t == nil && errors.Is(err, syscall.ECONNREFUSED) {
				return 0, fmt.Errorf("nothing listens at %s; start the server first, or give its command line", p.base)
			}
			if tree != nil && port != 0 && errors.Is(err, syscall.ECONNREFUSED) {
				if err := elsewhere.check(tree, now); err != nil {
					return 0, err
				}
			}
		}
		if now.Sub(since) > limit {
			return 0, fmt.Errorf("the SUT was not ready within %v: %s%s", limit, last, lastWordsOf(t))
		}
		select {
		case <-ctx.Done():
		case <-time.After(readyInterval):
		}
	}
}

var errEnded = errors.New("the SUT ended")

func lastWordsOf(t *tier) string {
	if t == nil {
		return ""
	}
	return t.lastWords()
}

// ownsPort fails when the socket that answered is not the child's: a stale
// server would otherwise be measured in its place.
func ownsPort(tree processTree, port int) error {
	if tree == nil || port == 0 {
		return nil
	}
	owns, err := tree.Owns(port)
	if err != nil || owns {
		return nil // not to be had on this system: readiness itself has to do
	}
	return fmt.Errorf("port %d answers, but the one who listens there is %s, not the SUT; end that one first", port, listenerName(port))
}

// elsewhereRule notices a SUT that has finished starting on another port: it
// listens, not on ours, and has stopped using CPU.
type elsewhereRule struct {
	port  int
	since time.Time
	cpu   float64
}

func (r *elsewhereRule) check(tree processTree, now time.Time) error {
	ports, err := tree.ListeningPorts()
	if err != nil || len(ports) == 0 {
		r.since = time.Time{}
		return nil
	}
	for _, p := range ports {
		if p == r.port {
			r.since = time.Time{}
			return nil
		}
	}
	s := tree.Sample()
	if s.CPUS == nil {
		return nil
	}
	if r.since.IsZero() || *s.CPUS-r.cpu > 0.05*now.Sub(r.since).Seconds()+0.02 {
		r.since, r.cpu = now, *s.CPUS
		return nil
	}
	if now.Sub(r.since) < 800*time.Millisecond {
		return nil
	}
	return fmt.Errorf("the SUT listens on port %s, not on {{port}} = %d; pass {{port}} to it in its command line", phrase.Ints(ports), r.port)
}

func notReady(err error) string {
	switch {
	case isRefused(err):
		return "nothing listens on its port"
	case isTimeout(err):
		return "it accepts connections and does not answer"
	}
	return err.Error()
}

func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

func excerpt(body []byte) string {
	const most = 200
	if len(body) > most {
		body = body[:most]
	}
	return fmt.Sprintf("%q", body)
}

// in makes the prober ask from within a namespace.
func (p *prober) in(n *netns.Namespace) *prober {
	p.client.Transport.(*http.Transport).DialContext = n.Dial
	return p
}
