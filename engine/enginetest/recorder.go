package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// Recorder is a Sink that records all calls and has a journal. The zero value is ready; it is safe
// for concurrent use.
type Recorder struct {
	mu       sync.Mutex // guards the fields below
	messages []engine.Message
	handles  []engine.SessionHandle
	warnings []interaction.Diagnostic
	journal  []engine.JournalEntry
	size     *interaction.JournalSize // of the journal
	paths    map[string]bool          // of its entries
	refusal  error                    // the error of every call, if set
	changed  chan struct{}            // closed and replaced on each report
}

var (
	_ engine.Sink    = (*Recorder)(nil)
	_ engine.Journal = (*Recorder)(nil)
)

// Message records m.
func (r *Recorder) Message(_ context.Context, m engine.Message) error {
	return r.report(func() { r.messages = append(r.messages, m) })
}

// Session records h.
func (r *Recorder) Session(_ context.Context, h engine.SessionHandle) error {
	h.Data = append([]byte(nil), h.Data...)
	return r.report(func() { r.handles = append(r.handles, h) })
}

// Warn records d.
func (r *Recorder) Warn(_ context.Context, d interaction.Diagnostic) error {
	return r.report(func() { r.warnings = append(r.warnings, d) })
}

// Entries returns the journal's entries, oldest first.
func (r *Recorder) Entries(context.Context) ([]engine.JournalEntry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.journal), nil
}

// Release does nothing.
func (*Recorder) Release() {}

// Append adds entries within the journal's limits, as a lifecycle does. Two entries at one path are
// an error.
func (r *Recorder) Append(_ context.Context, entries ...engine.JournalEntry) error {
	return r.change(func() error {
		size, err := r.size.With(entries)
		if err != nil {
			return err
		}
		if r.paths == nil {
			r.paths = make(map[string]bool)
		}
		for _, e := range entries {
			if r.paths[e.Path] {
				return fmt.Errorf("enginetest: the journal has two entries at %s", e.Path)
			}
			r.paths[e.Path] = true
		}
		r.journal, r.size = append(r.journal, entries...), size
		return nil
	})
}

func (r *Recorder) report(record func()) error {
	return r.change(func() error { record(); return nil })
}

func (r *Recorder) change(record func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refusal != nil {
		return r.refusal
	}
	if err := record(); err != nil {
		return err
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return nil
}

// Refuse makes every later call return err, as a lifecycle returns engine.ErrStale to a stale
// attempt.
func (r *Recorder) Refuse(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusal = err
}

// Messages returns the texts of the messages, in order.
func (r *Recorder) Messages() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := make([]string, 0, len(r.messages))
	for _, m := range r.messages {
		texts = append(texts, m.Text)
	}
	return texts
}

// Refs returns the transcript positions of the messages, nil for messages without one.
func (r *Recorder) Refs() []*engine.RawRef {
	r.mu.Lock()
	defer r.mu.Unlock()
	refs := make([]*engine.RawRef, 0, len(r.messages))
	for _, m := range r.messages {
		refs = append(refs, m.RawRef)
	}
	return refs
}

// Warnings returns the reported diagnostics.
func (r *Recorder) Warnings() []interaction.Diagnostic {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]interaction.Diagnostic(nil), r.warnings...)
}

// Last returns the newest session handle, or nil.
func (r *Recorder) Last() *engine.SessionHandle {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.handles) == 0 {
		return nil
	}
	h := r.handles[len(r.handles)-1]
	return &h
}

// Await returns when done returns true, or with an error when ctx ends. done is called after each
// report and may call the Recorder's methods.
func (r *Recorder) Await(ctx context.Context, done func() bool) error {
	for {
		r.mu.Lock()
		if r.changed == nil {
			r.changed = make(chan struct{})
		}
		changed := r.changed
		r.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("enginetest: what was waited for did not come: %w", context.Cause(ctx))
		}
	}
}
