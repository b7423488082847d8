package plainjson

import (
	"bytes"
	"sync"
)

// maxKept bounds the buffers that are kept for later use, in bytes: a rare long text must not stay
// in memory.
const maxKept = 64 << 10

var kept = sync.Pool{New: func() any { return new([]byte) }}

// Exact returns what write appends to the buffer that it is given, in memory of its own that is
// exactly as large as needed. It costs this one allocation.
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
