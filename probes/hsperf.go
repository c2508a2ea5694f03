package probes

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrHsperf is wrapped by every error of [ParseHsperf].
var ErrHsperf = errors.New("hsperfdata")

// Counters are the entries of one hsperfdata file by name. A name that the JVM
// did not write is absent; it is never 0.
type Counters struct {
	Longs   map[string]int64
	Strings map[string]string
}

// The layout is that of HotSpot's perfMemory.hpp (PerfDataPrologue and
// PerfDataEntry), version 2.0, in the byte order that the file itself names.
const (
	hsperfMagic    = 0xcafec0c0 // always big-endian
	hsperfPrologue = 32
	hsperfEntry    = 20
	hsperfMaxBytes = 16 << 20 // PerfDataMemorySize is 32 KiB by default; far above any real file
)

// ParseHsperf parses the bytes of an hsperfdata file, which a running JVM may
// be writing at the same time. On an error the counters read before the damage are
// returned with it. Nothing in the file is trusted: every offset is checked.
func ParseHsperf(data []byte) (Counters, error) {
	c := Counters{Longs: map[string]int64{}, Strings: map[string]string{}}
	err := walkHsperf(data, func(e hsperfItem) {
		switch {
		case e.kind == 'J' && e.vector == 0:
			c.Longs[e.name] = int64(e.order.Uint64(e.value))
		case e.kind == 'B' && e.vector > 0:
			text, _, _ := bytes.Cut(e.value, []byte{0})
			c.Strings[e.name] = string(text)
		}
	})
	return c, err
}

// hsperfItem is one entry; value is a part of the file, so that the fixtures can be scrubbed in place.
type hsperfItem struct {
	name   string
	kind   byte // 'J' long, 'B' byte: the letters of class files
	vector int  // elements, 0 for a scalar
	order  binary.ByteOrder
	value  []byte
}

// walkHsperf calls visit for each entry whose bounds hold, in file order.
func walkHsperf(data []byte, visit func(hsperfItem)) error {
	if len(data) < hsperfPrologue {
		return fmt.Errorf("%w: %d bytes are too short for a prologue", ErrHsperf, len(data))
	}
	if binary.BigEndian.Uint32(data) != hsperfMagic {
		return fmt.Errorf("%w: wrong magic number %x", ErrHsperf, data[:4])
	}
	var order binary.ByteOrder = binary.BigEndian
	switch data[4] {
	case 0:
	case 1:
		order = binary.LittleEndian
	default:
		return fmt.Errorf("%w: unknown byte order %d", ErrHsperf, data[4])
	}
	if major, minor := data[5], data[6]; major != 2 {
		return fmt.Errorf("%w: version %d.%d, only 2.x is known", ErrHsperf, major, minor)
	}
	if data[7] == 0 {
		return fmt.Errorf("%w: not accessible yet, the JVM is starting", ErrHsperf)
	}
	used := int(int32(order.Uint32(data[8:])))
	at := int(int32(order.Uint32(data[24:])))
	count := int(int32(order.Uint32(data[28:])))
	if used < hsperfPrologue || used > len(data) {
		return fmt.Errorf("%w: torn: says %d bytes are used, has %d", ErrHsperf, used, len(data))
	}
	if at < hsperfPrologue || count < 0 {
		return fmt.Errorf("%w: %d entries at offset %d", ErrHsperf, count, at)
	}
	data = data[:used]
	for i := range count {
		item, length, err := hsperfItemAt(data, at, order)
		if err != nil {
			return fmt.Errorf("%w: entry %d of %d: %w", ErrHsperf, i, count, err)
		}
		visit(item)
		at += length
	}
	return nil
}

var errTorn = errors.New("torn or damaged")

// hsperfItemAt reads the entry at offset at and its length. Every length and
// offset is compared with what is left, in int, which cannot overflow from int32 parts.
func hsperfItemAt(data []byte, at int, order binary.ByteOrder) (item hsperfItem, length int, err error) {
	if at > len(data)-hsperfEntry {
		return item, 0, errTorn
	}
	head := data[at:]
	length = int(int32(order.Uint32(head)))
	name := int(int32(order.Uint32(head[4:])))
	vector := int(int32(order.Uint32(head[8:])))
	value := int(int32(order.Uint32(head[16:])))
	if length < hsperfEntry || length > len(head) ||
		name < hsperfEntry || name >= length || value < hsperfEntry || value > length || vector < 0 {
		return item, 0, errTorn
	}
	head = head[:length]
	text, _, ended := bytes.Cut(head[name:], []byte{0})
	if !ended {
		return item, 0, errTorn
	}
	size := hsperfSize(head[12]) * max(1, vector)
	if size > length-value {
		return item, 0, errTorn
	}
	return hsperfItem{string(text), head[12], vector, order, head[value : value+size]}, length, nil
}

// hsperfSize is the width of one element; types that no JVM writes today count
// as a byte, and are not visited as values.
func hsperfSize(kind byte) int {
	switch kind {
	case 'J', 'D':
		return 8
	case 'I', 'F':
		return 4
	case 'S', 'C':
		return 2
	}
	return 1
}
