package standin

import (
	"context"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// threadServer is the thread-per-request model. As in Tomcat's NIO connector,
// waiting for a request costs no thread: readers (cheap, on Go's poller) hold
// the connections and queue each complete request, and a bounded number of
// operating system threads take them from the queue. A thread belongs to its
// request until the answer is written; for the downstream it waits in read(2).
type threadServer struct {
	*service
	ln   *listener
	pool *blockingPool
	// jobs is the queue. A connection has at most one request in it, so its
	// length bounds nothing but a silly number of connections.
	jobs    chan *exchange
	pending atomic.Int64 // requests queued or with a thread
	started atomic.Int64 // threads
	workers sync.WaitGroup
	readers sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// spareProcessors is from where on more of them made no difference.
const spareProcessors = 16

// exchange is one client connection and the request it is at.
type exchange struct {
	net.Conn
	session
	out      []byte
	answered chan bool // from the worker: whether the connection lives on
}

func serveThreads(ctx context.Context, ln *listener, s *service) error {
	// The runtime gives up at 10000 threads, which would be the stand-in's own limit.
	previous := debug.SetMaxThreads(s.cfg.Workers + 10000)
	defer debug.SetMaxThreads(previous)
	// A thread in read(2) keeps its P, the runtime's right to run Go code, until
	// the runtime's monitor takes it away, up to 10 ms later where little happens.
	// With a P a CPU requests waited for that on an idle machine: 660/s in place
	// of 1000/s at 100 connections. Spare ones cost some CPU time to look for work.
	processors := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(processors, spareProcessors))
	defer runtime.GOMAXPROCS(processors)
	t := &threadServer{
		service: s,
		ln:      ln,
		pool:    newBlockingPool(s.addr, s.cfg.Pool),
		jobs:    make(chan *exchange, 1<<16),
		conns:   map[net.Conn]struct{}{},
	}
	stop := context.AfterFunc(ctx, func() { ln.Close() })
	defer stop()
	err := ln.acceptAll(ctx, t.accepted)
	t.close()
	return err
}

// close drops every connection and waits for the readers and threads to end.
func (t *threadServer) close() {
	t.mu.Lock()
	t.closed = true
	for c := range t.conns {
		c.Close()
	}
	t.mu.Unlock()
	t.pool.close()
	t.readers.Wait()
	close(t.jobs)
	t.workers.Wait()
}

func (t *threadServer) accepted(c net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.Close()
		t.ln.release()
		return
	}
	t.conns[c] = struct{}{}
	t.readers.Add(1)
	go t.read(&exchange{Conn: c, answered: make(chan bool, 1)})
}

// read takes requests off a connection, one at a time, until it ends.
func (t *threadServer) read(x *exchange) {
	defer t.readers.Done()
	defer func() {
		x.Close()
		t.mu.Lock()
		delete(t.conns, x.Conn)
		t.mu.Unlock()
		t.ln.release()
	}()
	buf := make([]byte, 4096)
	var unread []byte // the part of buf that belongs to the next request
	x.Reset()
	for {
		if len(unread) == 0 {
			n, err := x.Read(buf)
			if n == 0 && err != nil {
				return
			}
			unread = buf[:n]
		}
		n, _, done, err := x.Parse(unread)
		if err != nil {
			x.Write([]byte(badRequest))
			return
		}
		unread = unread[n:]
		if !done {
			continue
		}
		t.submit(x)
		if !<-x.answered {
			return
		}
		x.Reset()
	}
}

// submit queues a request, and starts a thread for it if all are busy and there
// may be more: Tomcat's order, which its own queue class exists to get.
func (t *threadServer) submit(x *exchange) {
	busy := t.pending.Add(1)
	for {
		n := t.started.Load()
		if busy <= n || n >= int64(t.cfg.Workers) {
			break
		}
		if t.started.CompareAndSwap(n, n+1) {
			t.workers.Add(1)
			go t.work()
			break
		}
	}
	t.jobs <- x
}

// work is one thread of the pool.
func (t *threadServer) work() {
	defer t.workers.Done()
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	for x := range t.jobs {
		if t.faults.over() {
			x.answered <- false // nobody works off the queue of a process that ends
			continue
		}
		r := t.answer(x.Method(), x.Target(), t.pool.get)
		out, keepAlive := x.writeReply(x.out[:0], r, t.cfg.KeepAliveRequests)
		x.out = out
		_, err := x.Write(out)
		t.pending.Add(-1)
		x.answered <- keepAlive && err == nil
	}
}
