package main

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// ledger records, outside the store, the acknowledgements and their positions in the trace.
type ledger struct {
	at func() int // returns the current position

	mu sync.Mutex
	book
}

// book is the content of a ledger.
type book struct {
	Commits  []acknowledged
	Receipts []receipt
	Canceled map[string]int // the position of each cancel, by run
}

// acknowledged is a commit that the store has acknowledged to the host.
type acknowledged struct {
	At      int
	Run     string
	Version uint64
	Events  []store.Event
}

// receipt is the receipt that a person got for a reply.
type receipt struct {
	At         int
	Run        string
	ID         int
	Key, Text  string
	AcceptedAt time.Time
}

func newLedger(at func() int) *ledger {
	return &ledger{at: at, book: book{Canceled: make(map[string]int)}}
}

// receipt records a person's receipt. The same key must always get the same receipt.
func (l *ledger) receipt(r interaction.Receipt, text string) error {
	at := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, old := range l.Receipts {
		if old.Run != r.RunID || old.Key != r.Key {
			continue
		}
		if !old.AcceptedAt.Equal(r.AcceptedAt) || old.ID != r.ID {
			return fmt.Errorf("%w: key %s of %s had the receipt %+v, and now %+v", errWrong, r.Key, r.RunID, old, r)
		}
		return nil
	}
	l.Receipts = append(l.Receipts, receipt{at, r.RunID, r.ID, r.Key, text, r.AcceptedAt})
	return nil
}

func (l *ledger) canceled(run string) {
	at := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.Canceled[run]; !known {
		l.Canceled[run] = at
	}
}

func (l *ledger) commit(c store.Commit) {
	at := l.at()
	l.mu.Lock()
	defer l.mu.Unlock()
	a := acknowledged{At: at, Run: c.Run.ID, Version: c.Run.Version}
	for _, e := range c.Events {
		a.Events = append(a.Events, store.Event{Seq: e.Seq, Body: bytes.Clone(e.Body)})
	}
	l.Commits = append(l.Commits, a)
}

// commits returns the number of acknowledged commits.
func (l *ledger) commits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.Commits)
}

// until returns the book as it was when the trace had the length p.
func (b *book) until(p int) *book {
	out := &book{Canceled: make(map[string]int)}
	for _, a := range b.Commits {
		if a.At <= p {
			out.Commits = append(out.Commits, a)
		}
	}
	for _, r := range b.Receipts {
		if r.At <= p {
			out.Receipts = append(out.Receipts, r)
		}
	}
	for run, at := range b.Canceled {
		if at <= p {
			out.Canceled[run] = at
		}
	}
	return out
}

// over wraps the store, so that the ledger records its acknowledgements.
func (l *ledger) over(s store.Store) store.Store {
	kept := noted{s, l}
	w, watches := s.(store.Watcher)
	local, isLocal := s.(store.Local)
	switch {
	case watches && isLocal:
		return watchedLocal{watched{kept, w}, local}
	case watches:
		return watched{kept, w}
	}
	return kept
}

type noted struct {
	store.Store

	ledger *ledger
}

// watched is a noted store that also gives hints.
type watched struct {
	noted
	store.Watcher
}

// watchedLocal is a watched store whose processes share a machine.
type watchedLocal struct {
	watched
	store.Local
}

func (n noted) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := n.Store.Commit(ctx, batch)
	for i, c := range batch {
		if errs[i] == nil {
			n.ledger.commit(c)
		}
	}
	return errs
}

func (n noted) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	started := make(map[string]store.Commit)
	start := req.Start
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := start(r, spec)
		started[r.ID] = c
		return c, err
	}
	claimed, err := n.Store.Claim(ctx, req)
	for _, c := range claimed {
		n.ledger.commit(started[c.Run.ID])
	}
	return claimed, err
}
