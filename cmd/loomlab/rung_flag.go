package main

import (
	"fmt"
	"strconv"
)

// rungFlag is a flag that may stand alone, for the highest rung, or name one: --jfr, --jfr=1000.
type rungFlag struct{ rung *int }

// Set takes what stands after "=", or "true" where nothing does.
func (f *rungFlag) Set(text string) error {
	rung := 0
	if text != "true" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no rung; want a number of connections", text)
		}
		rung = n
	}
	f.rung = &rung
	return nil
}

func (f *rungFlag) String() string {
	if f == nil || f.rung == nil {
		return ""
	}
	return strconv.Itoa(*f.rung)
}

// IsBoolFlag lets the flag stand alone.
func (f *rungFlag) IsBoolFlag() bool { return true }
