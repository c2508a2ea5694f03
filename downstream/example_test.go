package downstream_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"loomlab/downstream"
)

// A downstream that takes 20 ms, asked once.
func Example() {
	server, err := downstream.New(downstream.Config{Listen: "127.0.0.1:0", Delay: 20 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	served := make(chan error)
	go func() { served <- server.Serve(ctx) }()

	began := time.Now()
	answer, err := http.Get(server.URL() + "/anything")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	fmt.Printf("%s %v, never early: %v\n", body, err, time.Since(began) >= 20*time.Millisecond)
	fmt.Println(server.Stats().Answered, "answered")

	stop()
	fmt.Println(<-served)
	// Output:
	// ok <nil>, never early: true
	// 1 answered
	// <nil>
}
