package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
)

func init() { benches["server"] = serveBadly }

// serveBadly is a SUT with two classic mistakes of servers. It leaves closing to
// the client whatever was asked, so that TIME_WAIT and the port that it holds
// are the client's. And with nagle it leaves Nagle's algorithm on and writes head
// and body apart, so that the body waits for the client's delayed
// acknowledgement of the head, 40 ms on Linux.
func serveBadly(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: server LISTEN DOWNSTREAM [nagle]")
	}
	ln, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 10000}}
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go serveConn(c, client, args[1], len(args) > 2)
	}
}

func serveConn(c net.Conn, client *http.Client, downstream string, nagle bool) {
	defer c.Close()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetNoDelay(!nagle)
	}
	r := bufio.NewReader(c)
	for {
		request, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		status := "200 OK"
		if answer, err := client.Get(downstream + "/x"); err != nil {
			status = "502 Bad Gateway"
		} else {
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		if _, err := fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\n", status); err != nil {
			return
		}
		if _, err := io.WriteString(c, "ok"); err != nil {
			return
		}
	}
}
