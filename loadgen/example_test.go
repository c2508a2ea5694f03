package loadgen_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"loomlab/loadgen"
)

// Exactly 100 requests over 5 connections, each with an outcome.
func ExampleRun() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "ok")
	}))
	defer server.Close()

	result, err := loadgen.Run(context.Background(), loadgen.Config{URL: server.URL, Connections: 5, Requests: 100}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Requests.Sent, "sent,", result.Requests.OK, "answered,", result.BytesIn > 0, result.LatencyMS.P50 > 0)
	// Output: 100 sent, 100 answered, true true
}
