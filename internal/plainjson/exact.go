package plainjson

import (
	"bytes"
	"sync"
)

// maxKept is the largest kept buffer in bytes: a rare long text must not stay in memory.
const maxKept = 64 << 10

var kept = sync.Pool{New: func() any { return new([]byte) }}

// Exact returns what write appends to its buffer, in new memory of exactly the right size: the one
// allocation.
func Exact(write func(dst []byte) ([]byte, error)) ([]byte, error) {
	buf := kept.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	body, err := write((*buf)[:0])
	var whole []byte
	if err == nil {
		whole = bytes.Clone(body)
	}
	if cap(body) <= maxKept {
		*buf = body
		kept.Put(buf)
	}
	return whole, err
}
