package http1_test

import (
	"fmt"

	"loomlab/loadgen/http1"
)

// An answer that comes in pieces, with the next one behind it.
func ExampleResponse() {
	var r http1.Response
	r.Reset(false)
	for _, piece := range []string{"HTTP/1.1 200 OK\r\nContent-Le", "ngth: 2\r\n\r\nokHTTP/1.1 503 "} {
		n, done, err := r.Parse([]byte(piece))
		fmt.Printf("%d of %d bytes, done %v, %v\n", n, len(piece), done, err)
	}
	fmt.Println(r.Status, r.BodyBytes, r.KeepAlive)
	// Output:
	// 27 of 27 bytes, done false, <nil>
	// 13 of 26 bytes, done true, <nil>
	// 200 2 true
}
