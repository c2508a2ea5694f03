package loadgen

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
)

// endpoint is where a URL points: the address to connect to, and what the
// requests say.
type endpoint struct {
	url      *url.URL
	host     string // to resolve, without brackets
	port     uint16
	hostText string // of the Host field
	path     string // of the request line
	auth     string // of the Authorization field, if the URL has credentials
}

// parseURL reads the URL of a load. Errors fit behind the command's name.
func parseURL(text string) (endpoint, error) {
	var e endpoint
	if text == "" {
		return e, errors.New("URL missing: such as http://127.0.0.1:8080/call")
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Opaque != "" {
		return e, fmt.Errorf("URL %q: a URL begins with http:// and a host, such as http://127.0.0.1:8080/call", text)
	}
	if u.Scheme == "https" {
		return e, fmt.Errorf("URL %q: https is not supported; the engine speaks plain HTTP/1.1", text)
	}
	if u.Hostname() == "" {
		return e, fmt.Errorf("URL %q: the host is missing", text)
	}
	e.url, e.host, e.port = u, u.Hostname(), 80
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return e, fmt.Errorf("URL %q: a port is 1 to 65535", text)
		}
		e.port = uint16(n)
	}
	e.hostText = hostField(u)
	e.path = u.RequestURI()
	if u.User != nil {
		password, _ := u.User.Password()
		e.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	return e, nil
}

// hostField is u.Host without what does not belong on the wire: a default port,
// an IPv6 zone.
func hostField(u *url.URL) string {
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host, _, _ = strings.Cut(host, "%")
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != "80" {
		host += ":" + p
	}
	return host
}

// ParseTarget reads "WEIGHT%=/path" or "WEIGHT=/path".
func ParseTarget(text string) (Target, error) {
	weight, path, ok := strings.Cut(text, "=")
	w, err := strconv.ParseFloat(strings.TrimSuffix(weight, "%"), 64)
	if !ok || err != nil || !(w > 0) || math.IsInf(w, 0) || !strings.HasPrefix(path, "/") {
		return Target{}, fmt.Errorf("--target %q: a weight above 0 and a path, such as 50%%=/light", text)
	}
	if err := checkPath(path); err != nil {
		return Target{}, fmt.Errorf("--target %q: %w", text, err)
	}
	return Target{Weight: w, Path: path}, nil
}

func checkPath(path string) error {
	for i := range len(path) {
		if path[i] <= ' ' || path[i] >= 0x7f {
			return errors.New("a path has no blanks or control characters; escape them with %")
		}
	}
	return nil
}

// requestBytes builds the request that is sent again and again.
func requestBytes(c *Config, e *endpoint, path string) ([]byte, error) {
	if err := checkMethod(c.Method); err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", c.Method, path)
	given := map[string]bool{}
	var fields strings.Builder
	for _, h := range c.Headers {
		name, value, err := parseHeader(h)
		if err != nil {
			return nil, err
		}
		given[strings.ToLower(name)] = true
		fmt.Fprintf(&fields, "%s: %s\r\n", name, value)
	}
	if !given["host"] {
		fmt.Fprintf(&b, "Host: %s\r\n", e.hostText)
	}
	if e.auth != "" && !given["authorization"] {
		fmt.Fprintf(&b, "Authorization: %s\r\n", e.auth)
	}
	if c.NoKeepAlive && !given["connection"] {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString(fields.String())
	if c.Body != nil || c.Method == "POST" || c.Method == "PUT" || c.Method == "PATCH" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(c.Body))
	}
	b.WriteString("\r\n")
	b.Write(c.Body)
	return []byte(b.String()), nil
}

func checkMethod(m string) error {
	if m == "CONNECT" {
		return errors.New("-m CONNECT: a tunnel is not a request that can be measured")
	}
	if m == "" || len(m) > 16 || !isToken(m) {
		return fmt.Errorf("-m %q: a method such as GET, HEAD or POST", m)
	}
	return nil
}

func parseHeader(h string) (name, value string, err error) {
	name, value, ok := strings.Cut(h, ":")
	value = strings.Trim(value, " \t")
	if !ok || !isToken(name) || strings.ContainsAny(value, "\r\n\x00") {
		return "", "", fmt.Errorf("-H %q: a header field is Name: value on one line", h)
	}
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "expect", "upgrade":
		return "", "", fmt.Errorf("-H %q: the engine sets the framing itself; use --body", h)
	}
	return name, value, nil
}

func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
