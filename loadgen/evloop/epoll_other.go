//go:build !linux

package evloop

import "errors"

const haveEpoll = false

func newEpoll() (Loop, error) {
	return nil, errors.New("the epoll loop needs Linux; use portable")
}
