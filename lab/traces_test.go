package lab

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

const plainTrace = `java.lang.IllegalStateException: no answer
	at app.Handler.call(Handler.java:12)
	at app.Handler$1.run(Handler.java:34)
Caused by: java.net.ConnectException: Connection refused
	at java.base/sun.nio.ch.Net.connect0(Native Method)
	... 12 more
`

func TestTraces(t *testing.T) {
	tests := []struct{ name, log, want string }{
		{"printStackTrace", plainTrace, "IllegalStateException <- ConnectException: Connection refused"},
		{"no cause", "java.lang.NullPointerException\n\tat a.B.c(B.java:1)\n", "NullPointerException"},
		{"uncaught", "Exception in thread \"http-nio-8080-exec-1\" java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)\n", "OutOfMemoryError: Java heap space"},
		{"windows line ends", strings.ReplaceAll(plainTrace, "\n", "\r\n"), "IllegalStateException <- ConnectException: Connection refused"},
		{"logback of Boot", `2026-11-30T15:50:28.123Z ERROR 4242 --- [nio-8080-exec-3] o.a.c.c.C.[.[.[/].[dispatcherServlet]    : Servlet.service() for servlet [dispatcherServlet] in context with path [] threw exception [Request processing failed: org.springframework.web.client.ResourceAccessException: I/O error] with root cause

java.net.SocketException: Connection reset
	at java.base/sun.nio.ch.SocketChannelImpl.throwConnectionReset(SocketChannelImpl.java:401) ~[na:na]
	at java.base/sun.nio.ch.SocketChannelImpl.read(SocketChannelImpl.java:434) ~[na:na]

2026-11-30T15:50:28.124Z  INFO 4242 --- [main] app : goes on
`, "SocketException: Connection reset"},
		{"logback, root cause first", "15:50:28.123 [main] ERROR app.Main - failed\njava.net.ConnectException: Connection refused\n\tat a.B.c(B.java:1)\n\t... 3 common frames omitted\n" +
			"Wrapped by: java.io.IOException: in between\n\tat a.B.d(B.java:2)\nWrapped by: app.CallFailed: outermost\n\tat a.B.e(B.java:3)\n",
			"CallFailed <- ConnectException: Connection refused"},
		{"log4j2", "2026-11-30 15:50:28,123 ERROR [pool-1-thread-2] a.B: request failed\njava.util.concurrent.ExecutionException: java.util.concurrent.TimeoutException\n" +
			"\tat java.util.concurrent.FutureTask.report(FutureTask.java:122) ~[?:?]\nCaused by: java.util.concurrent.TimeoutException\n\tat a.B.c(B.java:1) ~[app.jar:1.0]\n\t... 4 more\n",
			"ExecutionException <- TimeoutException"},
		{"java.util.logging", "Nov 30, 2026 3:50:28 PM app.Handler call\nSEVERE: it failed\njava.io.IOException: Broken pipe\n\tat a.B.c(B.java:1)\n", "IOException: Broken pipe"},
		{"reactor", `reactor.core.Exceptions$ErrorCallbackNotImplemented: java.lang.IllegalArgumentException: odd
Caused by: java.lang.IllegalArgumentException: odd
	at a.B.c(B.java:1)
	Suppressed: reactor.core.publisher.FluxOnAssembly$OnAssemblyException: 
Error has been observed at the following site(s):
	*__checkpoint ⇢ HTTP GET "/call" [ExceptionHandlingWebHandler]
Original Stack Trace:
		at a.B.c(B.java:1)
		at a.B.d(B.java:2)
`, "ErrorCallbackNotImplemented <- IllegalArgumentException: odd"},
		{"suppressed with a cause", "java.io.IOException: top\n\tat a.B.c(B.java:1)\n\tSuppressed: java.lang.RuntimeException: not this\n\t\tat a.B.d(B.java:1)\n\tCaused by: java.lang.Error: nor this\n\t\t... 1 more\n" +
			"Caused by: java.net.SocketException: this\n\t... 2 more\n", "IOException <- SocketException: this"},
		{"a message of several lines", "app.BadInput: cannot read\n  the second line\n\nthe fourth\n\tat a.B.c(B.java:1)\n", "BadInput: cannot read"},
		{"JSON lines", `{"level":"ERROR","message":"failed","stack_trace":"java.lang.IllegalStateException: x\n\tat a.B.c(B.java:1)\nCaused by: java.io.EOFException\n\tat a.B.d(B.java:2)\n"}` + "\n", "IllegalStateException <- EOFException"},
		{"null message", "java.lang.NullPointerException: null\n\tat a.B.c(B.java:1)\n", "NullPointerException"},
		{"what differs each time", "io.netty.channel.ConnectTimeoutException: connection timed out after 30001 ms: /127.0.0.1:40123 [id: 0xcafe12, L:/127.0.0.1:5] a.B@1a2b3c4d 0f8fad5b-d9cb-469f-a165-70867728950e\n\tat a.B.c(B.java:1)\n",
			"ConnectTimeoutException: connection timed out after * ms: /127.0.0.1:* [id: 0x*, L:/127.0.0.1:*] a.B@* *"},
		{"a logger named like a class", "app.Service: started\nWARN something java.io.IOException: weak\n\tat a.B.c(B.java:1)\n", "IOException: weak"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := map[string]int64{tt.want: 3}
			whole := &traces{}
			fmt.Fprint(whole, tt.log, tt.log, "and a line between\n", tt.log)
			if got := whole.snapshot(); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			bytewise := &traces{}
			for _, b := range []byte(strings.Repeat(tt.log, 3)) {
				bytewise.Write([]byte{b})
			}
			if got := bytewise.snapshot(); !maps.Equal(got, want) {
				t.Errorf("byte by byte: got %v, want %v", got, want)
			}
		})
	}
}

func TestTracesSeeNoneWhereNoneIs(t *testing.T) {
	for _, log := range []string{
		"", "\n\n", "listening on :8080\n",
		"2026-11-30 ERROR app.Main - request failed: java.io.IOException: Broken pipe\n", // no trace, as many apps log
		"\tat nothing.before(This.java:1)\n",
		"Caused by: java.io.IOException: alone\n",
		"    at the market\n",
		"panic: runtime error: index out of range\n\ngoroutine 1 [running]:\nmain.main()\n\t/src/main.go:7 +0x1d\n",
	} {
		got := &traces{}
		fmt.Fprint(got, log)
		if counts := got.snapshot(); len(counts) != 0 {
			t.Errorf("%q: %v", log, counts)
		}
	}
}

// A snapshot between two lines of a trace counts it once, on its side.
func TestTracesAreCountedOnce(t *testing.T) {
	log := &traces{}
	head, rest, _ := strings.Cut(plainTrace, "Caused by")
	fmt.Fprint(log, head)
	before := log.snapshot()
	fmt.Fprint(log, "Caused by"+rest)
	if after := log.snapshot(); len(before) != 1 || !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestTracesAreBounded(t *testing.T) {
	log := &traces{}
	for i := range 3 * traceKinds {
		fmt.Fprintf(log, "a.E%dException: x\n\tat a.B.c(B.java:1)\n", i)
	}
	counts := log.snapshot()
	if len(counts) != traceKinds+1 || counts[otherTraces] != 2*traceKinds {
		t.Errorf("%d kinds, %d other", len(counts), counts[otherTraces])
	}
	long := strings.Repeat("€", 1<<20)
	fmt.Fprintf(log, "%s\njava.io.IOException: %s\n\tat a.B.c(B.java:1)\n", long, long)
	for kind := range log.snapshot() {
		if len([]rune(kind)) > traceMessage+100 {
			t.Errorf("a kind of %d characters", len([]rune(kind)))
		}
	}
	if cap(log.line) > 2*traceLine {
		t.Errorf("keeps %d bytes of a line", cap(log.line))
	}
}

func FuzzTraces(f *testing.F) {
	f.Add(plainTrace)
	f.Add("Wrapped by: a.B\n\tat \n{\"a\":\"x\\n\\tat y\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		one, two := &traces{}, &traces{}
		fmt.Fprint(one, text)
		for i := 0; i < len(text); i += 7 {
			fmt.Fprint(two, text[i:min(len(text), i+7)])
		}
		if a, b := one.snapshot(), two.snapshot(); !maps.Equal(a, b) {
			t.Errorf("at once %v, in pieces %v", a, b)
		}
	})
}
