package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// sink is the turn as its engine sees it: it takes reports while the turn executes. Every report is
// a commit under the turn's fence.
type sink turn

// Message stores an intermediate message as an event.
func (s *sink) Message(ctx context.Context, m engine.Message) error {
	text, cut := bounded(interaction.RemoveNonce(m.Text, (*turn)(s).currentDialect().nonce), maxMessage)
	return s.report(ctx, nil, intermediate(text, cut, m.RawRef))
}

// Warn stores a diagnostic as an event.
func (s *sink) Warn(ctx context.Context, d interaction.Diagnostic) error {
	return s.report(ctx, nil, warning(declaredWarning(d)))
}

// declaredWarning returns the diagnostic with a code that an event may have: one of the contract,
// or one of the engine's own. Any other code becomes ENGINE_DIAGNOSTIC, and is named in the detail
// (F6, F7).
func declaredWarning(d interaction.Diagnostic) interaction.Diagnostic {
	if d.Code.Declared() {
		return d
	}
	detail := d.Detail
	if d.Code != "" {
		code, _ := bounded(string(d.Code), fsm.OwnWarningLongest)
		detail = strings.TrimSuffix(code+": "+detail, ": ")
	}
	return interaction.Diagnostic{Code: fsm.WarnEngineDiagnostic, Detail: detail}
}

// declaredWarnings are the diagnostics of an outcome, maxDiagnostics at most, in a new slice.
func declaredWarnings(given []interaction.Diagnostic) []interaction.Diagnostic {
	if len(given) == 0 {
		return nil
	}
	all := make([]interaction.Diagnostic, 0, min(len(given), maxDiagnostics)+1)
	for i, d := range given {
		if i == maxDiagnostics {
			return append(all, interaction.Diagnostic{
				Code: fsm.WarnEngineOutputTruncated, Detail: fmt.Sprintf("%d diagnostics in one outcome; the first "+
					"%d are kept", len(given), maxDiagnostics),
			})
		}
		all = append(all, declaredWarning(d))
	}
	return all
}

// Session stores the session handle.
func (s *sink) Session(ctx context.Context, h engine.SessionHandle) error {
	session, err := storable(&h)
	if err != nil {
		return err
	}
	return s.report(ctx, session)
}

func (s *sink) report(ctx context.Context, session *engine.SessionHandle, events ...fcmp.Payload) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("engine: report not stored: %w", context.Cause(ctx))
	}
	t := (*turn)(s)
	t.mu.Lock() // until the report is committed, so that the turn does not end between admit and commit
	defer t.mu.Unlock()
	events, err := t.admit(events)
	if err != nil || (session == nil && len(events) == 0) {
		return err
	}
	_, err = t.commitLocked(func(run *store.Run, now time.Time) (store.Commit, error) {
		return decideReport(run, now, session, events...)
	})
	if errors.Is(err, store.ErrStaleEpoch) {
		return fmt.Errorf("%w: %w", engine.ErrStale, err)
	}
	return err
}

// admit refuses reports after the turn has ended, and drops those beyond maxReports; the last one
// that is stored says so. The caller holds mu.
func (t *turn) admit(events []fcmp.Payload) ([]fcmp.Payload, error) {
	if t.reportsClosed {
		return nil, fmt.Errorf("%w: the turn has ended", engine.ErrStale)
	}
	if len(events) == 0 {
		return nil, nil
	}
	t.reports++
	if t.reports < maxReports {
		return events, nil
	}
	if t.reports == maxReports {
		return []fcmp.Payload{warning(interaction.Diagnostic{
			Code: fsm.WarnEngineOutputTruncated, Detail: fmt.Sprintf("more than %d messages in one turn; the rest is "+
				"in the transcript only", maxReports),
		})}, nil
	}
	return nil, nil
}

// storable returns a copy of the handle that the run may keep, nil if there is none. The error says
// that it cannot be stored.
func storable(h *engine.SessionHandle) (*engine.SessionHandle, error) {
	if h == nil {
		return nil, nil //nolint:nilnil // no handle is no session, and no fault
	}
	if len(h.Data) == 0 || len(h.Data) > engine.MaxSessionHandle {
		return nil, fmt.Errorf("engine: handle has %d bytes, want 1 to %d", len(h.Data), engine.MaxSessionHandle)
	}
	if !utf8.ValidString(h.Engine) || !utf8.ValidString(h.Version) {
		return nil, fmt.Errorf("engine: handle is of engine %+.80q, version %+.80q, want UTF-8", h.Engine, h.Version)
	}
	return h.Clone(), nil
}

// forEngine returns a stored handle for an engine, which may write into the struct.
func forEngine(h *engine.SessionHandle) *engine.SessionHandle {
	if h == nil {
		return nil
	}
	given := *h
	return &given
}
