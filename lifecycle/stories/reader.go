package stories

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// reader follows a run, as a browser's stream does, or reads a feed.
type reader struct {
	name string
	// leave ends the process that reads a feed, which closes ended; nil: it follows a run.
	leave func()
	ended chan struct{}
	next  chan struct{} // receives once for each event that a slow reader may take; nil: it takes all

	mu       sync.Mutex
	received []string // guarded by mu; not reported yet
	last     uint64   // guarded by mu
}

func (w *world) addReader(r *reader) error {
	if slices.ContainsFunc(w.readers, func(other *reader) bool { return other.name == r.name }) {
		return fmt.Errorf("%s reads already", r.name)
	}
	w.readers = append(w.readers, r)
	return nil
}

func follow(w *world, a *args) (string, error) {
	c := w.client("")
	r := &reader{name: a.words["READER"], last: uint64(a.number("after"))}
	if a.flags["slowly"] {
		r.next = make(chan struct{}, 100)
	}
	if err := w.addReader(r); err != nil {
		return "", err
	}
	go func() {
		for event, err := range c.Events(w.ctx, a.words["RUN"], r.last) {
			if err != nil {
				r.receive(0, strings.TrimSpace(formatError(err)))
				return
			}
			r.receive(event.Seq, strconv.FormatUint(event.Seq, 10))
			if r.next != nil {
				select {
				case <-r.next:
				case <-w.agents.ended:
					return
				}
			}
		}
		r.receive(0, "the end")
	}()
	return "", nil
}

func (r *reader) receive(seq uint64, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > 0 && seq != r.last+1 {
		text += " AFTER A GAP"
	}
	r.last = max(seq, r.last)
	r.received = append(r.received, text)
}

// await waits for a run's end, and reports it like a reader's input.
func await(w *world, a *args) (string, error) {
	c := w.client("")
	r := &reader{name: a.words["READER"]}
	if err := w.addReader(r); err != nil {
		return "", err
	}
	go func() {
		run, err := c.Wait(w.ctx, a.words["RUN"])
		if err != nil {
			r.receive(0, strings.TrimSpace(formatError(err)))
			return
		}
		r.receive(0, "the end: "+string(run.State))
	}()
	return "", nil
}

func readMore(w *world, a *args) (string, error) {
	i := slices.IndexFunc(w.readers, func(r *reader) bool { return r.name == a.words["READER"] && r.next != nil })
	if i < 0 {
		return "", fmt.Errorf("nobody reads slowly as %s", a.words["READER"])
	}
	r := w.readers[i]
	for range cap(r.next) - len(r.next) {
		r.next <- struct{}{}
	}
	return "", nil
}

// drainReaders returns what readers have received since it was last reported.
func (w *world) drainReaders() (text string) {
	for _, r := range w.readers {
		r.mu.Lock()
		if len(r.received) > 0 {
			text += fmt.Sprintf("%s reads %s\n", r.name, strings.Join(r.received, " "))
		}
		r.received = nil
		r.mu.Unlock()
	}
	return text
}
