package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// progress draws a bar for each phase on a terminal.
type progress struct {
	out *os.File // nil if standard error is not a terminal
}

func newProgress(f *os.File) *progress {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{out: f}
}

type bar struct {
	out   *os.File
	name  string
	total int
	begun time.Time

	mu   sync.Mutex
	last time.Time // guarded by mu; the time of the last drawing
}

func (p *progress) start(name string, total int) *bar {
	return &bar{out: p.out, name: name, total: total, begun: time.Now()}
}

// at redraws the bar, at most ten times a second.
func (b *bar) at(done int) {
	if b.out == nil {
		return
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.last) < 100*time.Millisecond {
		return
	}
	b.last = now
	const width = 30
	full := min(width*done/max(b.total, 1), width)
	fmt.Fprintf(b.out, "\r%-22s [%s%s] %3d %%  %.0f/s\x1b[K", b.name, strings.Repeat("#", full), strings.Repeat(".",
		width-full),
		min(100*done/max(b.total, 1), 100), float64(done)/now.Sub(b.begun).Seconds())
}

func (b *bar) end() {
	if b.out != nil {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
