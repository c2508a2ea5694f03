package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"loomlab/lab/netns"
	"loomlab/lab/phrase"
)

// Ping asks a server whether it takes connections, as libpq's PQping
// does: it sends a startup message and looks at the first answer. Any question
// about authentication means yes; nothing is logged on either side.
func Ping(ctx context.Context, n *netns.Namespace, host string, port int, user, database string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := n.Dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(startupMessage(user, database)); err != nil {
		return err
	}
	var head [5]byte // its type, and the length of what follows with itself
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	switch length := binary.BigEndian.Uint32(head[1:]); {
	case head[0] == 'R':
		return nil
	case head[0] != 'E' || length < 4 || length > 64<<10:
		return errors.New("what answers there is no PostgreSQL")
	default:
		body := make([]byte, length-4)
		if _, err := io.ReadFull(conn, body); err != nil {
			return err
		}
		return errors.New(errorMessage(body))
	}
}

// startupMessage is the first message of protocol 3.0.
func startupMessage(user, database string) []byte {
	body := binary.BigEndian.AppendUint32(nil, 3<<16)
	for _, text := range []string{"user", user, "database", database} {
		body = append(append(body, text...), 0)
	}
	body = append(body, 0)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+4)), body...)
}

// errorMessage is the text of an ErrorResponse: fields of a letter and a C string.
func errorMessage(body []byte) string {
	for len(body) > 1 {
		field, rest := body[0], body[1:]
		end := 0
		for end < len(rest) && rest[end] != 0 {
			end++
		}
		if field == 'M' {
			return phrase.Printable(string(rest[:end]))
		}
		body = rest[min(end+1, len(rest)):]
	}
	return fmt.Sprintf("an error without a message (%d bytes)", len(body))
}
