package simulate

import (
	"fmt"
	"strings"
	"time"
)

// trace records the events, in order. It always computes a hash, and keeps the text on request.
type trace struct {
	hash  uint64
	store bool
	lines []string
}

// FNV-1a, 64 bit.
const (
	hashBasis = 14695981039346656037
	hashPrime = 1099511628211
)

func (t *trace) add(now time.Duration, words ...string) {
	if t.hash == 0 {
		t.hash = hashBasis
	}
	t.mix(uint64(now))
	for _, word := range words {
		for i := range len(word) {
			t.hash = (t.hash ^ uint64(word[i])) * hashPrime
		}
		t.mix(uint64(len(word)))
	}
	if t.store {
		t.lines = append(t.lines, fmt.Sprintf("%10.3fs  %s", now.Seconds(), strings.Join(words, " ")))
	}
}

func (t *trace) mix(n uint64) {
	for range 8 {
		t.hash = (t.hash ^ n&0xff) * hashPrime
		n >>= 8
	}
}
