package standin_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"

	"loomlab/lab/standin"
)

// An event loop that answers hello.
func ExampleServe() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ready := make(chan net.Addr, 1)
	served := make(chan error)
	go func() {
		served <- standin.Serve(ctx, standin.Config{
			Listen: "127.0.0.1:0", Model: standin.EventLoop, Ready: func(addr net.Addr) { ready <- addr },
		})
	}()
	answer, err := http.Get(fmt.Sprintf("http://%s/hello", <-ready))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.StatusCode, string(body))
	stop()
	fmt.Println(<-served)
	// Output:
	// 200 hello
	// <nil>
}
