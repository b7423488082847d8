package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// errLost says that the store has lost something that was acknowledged. Every other finding is
// damage.
var errLost = errors.New("acknowledged, and lost")

// judge compares a store with the book: it must have every acknowledged commit, receipt and cancel,
// and each log must keep the contract.
func judge(ctx context.Context, s store.Store, b *book) error {
	var wrong []error
	logs := make(map[string][]store.Event)
	runs := make(map[string]store.Run)
	err := eachRun(ctx, s, func(r *store.Run) error {
		log, err := cast.ReadLog(ctx, s, r)
		runs[r.ID], logs[r.ID] = *r, log
		return err
	})
	wrong = append(wrong, err)
	for _, a := range b.Commits {
		if r, there := runs[a.Run]; !there || r.Version < a.Version {
			wrong = append(wrong, fmt.Errorf("%w: version %d of %s: the store has %d", errLost, a.Version, a.Run,
				r.Version))
			continue
		}
		for _, e := range a.Events {
			if log := logs[a.Run]; e.Seq > uint64(len(log)) || !bytes.Equal(log[e.Seq-1].Body, e.Body) {
				wrong = append(wrong, fmt.Errorf("%w: event %d of %s is not the one that was acknowledged", errLost,
					e.Seq,
					a.Run))
			}
		}
	}
	for _, r := range b.Receipts {
		record, err := s.Settled(ctx, r.Run, r.Key)
		if err != nil || record.Question.ID != r.ID || !record.ResolvedAt.Equal(r.AcceptedAt) ||
			record.Response != r.Text {
			wrong = append(wrong, fmt.Errorf("%w: the reply with key %s to %s: %w", errLost, r.Key, r.Run,
				orNothing(err)))
		}
	}
	for run := range b.Canceled {
		if r := runs[run]; r.State != fsm.StateCanceled {
			wrong = append(wrong, fmt.Errorf("%w: the cancel of %s, which is %q", errLost, run, r.State))
		}
	}
	return errors.Join(wrong...)
}

var errNothing = errors.New("no error")

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}

func eachRun(ctx context.Context, s store.Store, do func(*store.Run) error) error {
	var wrong []error
	for r, err := range cast.Runs(ctx, s.Runs, store.Query{}) {
		if err != nil {
			return err
		}
		if err := do(&r); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", r.ID, err))
		}
	}
	return errors.Join(wrong...)
}

// judgePages lets SQLite check its file.
func judgePages(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	var said string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return fmt.Errorf("integrity_check: %s", said)
	}
	return nil
}

// judgeEnds returns an error unless each run has ended as planned and has got every answer.
func judgeEnds(ctx context.Context, s store.Store, n int) error {
	seen := 0
	err := eachRun(ctx, s, func(r *store.Run) error {
		seen++
		var number int
		if _, err := fmt.Sscanf(r.ID, "run-%d", &number); err != nil {
			return err
		}
		if withdrawn(number) {
			if r.State != fsm.StateCanceled {
				return fmt.Errorf("it is %s, and was canceled", r.State)
			}
			return nil
		}
		if r.State != fsm.StateSucceeded {
			return fmt.Errorf("it ended as %s: %+v", r.State, r.Error)
		}
		heard, err := cast.ReadHeard(r.Output)
		if err != nil {
			return err
		}
		var want []string
		for q := range questions {
			want = append(want, answerTo(r.ID, q+1))
		}
		if !slices.Equal(heard, want) {
			return fmt.Errorf("it heard %q", heard)
		}
		return nil
	})
	if err == nil && seen != n {
		err = fmt.Errorf("there are %d runs of %d", seen, n)
	}
	return err
}
