package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Limits after which no more messages and warnings are stored, so that no agent can fill the
// database. Changes of state are always stored.
const (
	maxReports        = 10_000    // of a turn
	maxReportBytes    = 16 << 20  // of a turn
	maxReportedSeq    = 100_000   // of a run
	maxRunReportBytes = 256 << 20 // of a run
)

// sink is the turn as an engine.Sink. Every report is a commit under the turn's fence.
type sink turn

func (s *sink) Message(ctx context.Context, m engine.Message) error {
	text := interaction.RemoveNonce(m.Text, (*turn)(s).currentDialect().Nonce)
	return s.report(ctx, nil, decide.Message(text, m.RawRef))
}

func (s *sink) Warn(ctx context.Context, d interaction.Diagnostic) error {
	return s.report(ctx, nil, decide.Warning(d))
}

func (s *sink) Session(ctx context.Context, h engine.SessionHandle) error {
	session, err := decide.StorableSession(&h)
	if err != nil {
		return err
	}
	return s.report(ctx, session)
}

// report stores events, a session handle unless nil, or both.
func (s *sink) report(ctx context.Context, session *engine.SessionHandle, events ...fcmp.Payload) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: report not stored: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	events, err := t.admit(events)
	if err != nil || (session == nil && len(events) == 0) {
		return err
	}
	var size int
	err = t.commitLocked(func(run *store.Run, now time.Time) (*store.Commit, error) {
		c, err := decide.Report(run, now, session, events...)
		if err == nil {
			size = decide.EncodedSize(c.Events)
		}
		return c, err
	})
	t.reportBytes += size
	return errorForEngine(err)
}

// errorForEngine lets a store.ErrStaleEpoch also match engine.ErrStale.
func errorForEngine(err error) error {
	if errors.Is(err, store.ErrStaleEpoch) {
		return fmt.Errorf("%w: %w", engine.ErrStale, err)
	}
	return err
}

// admit returns the events that a report may store: none after the turn's end or beyond the limits,
// and at a limit a warning that later reports are omitted. The caller holds mu.
func (t *turn) admit(events []fcmp.Payload) ([]fcmp.Payload, error) {
	if err := t.checkOpen(); err != nil {
		return nil, err
	}
	if len(events) == 0 || t.reportsFull {
		return nil, nil
	}
	t.reports++
	bound := t.reachedBound()
	if bound == "" {
		return events, nil
	}
	t.reportsFull = true
	return []fcmp.Payload{decide.Warning(interaction.Diagnostic{
		Code: fsm.WarnEngineOutputTruncated, Detail: bound + "; the rest is in the transcript only",
	})}, nil
}

// reachedBound names the limit that the reports have reached, or is empty. The caller holds mu.
func (t *turn) reachedBound() string {
	switch {
	case t.reports >= maxReports:
		return fmt.Sprintf("more than %d messages in one turn", maxReports)
	case t.reportBytes >= maxReportBytes:
		return fmt.Sprintf("more than %d MiB of messages in one turn", maxReportBytes>>20)
	case t.record.Seq >= maxReportedSeq:
		return fmt.Sprintf("the run has more than %d events", maxReportedSeq)
	case t.record.Reported >= maxRunReportBytes:
		return fmt.Sprintf("the run has more than %d MiB of messages", maxRunReportBytes>>20)
	}
	return ""
}
