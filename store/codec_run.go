package store

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/interlude-go/interlude/fsm"
)

// The members of a run in the order of its fields, written and read. A name stands with what is
// written before its value. What is left out when it is empty may be missing when it is read; the
// first member of an object never is.

func (w *writer) run(r *Run) {
	w.Text(`{"id":`, r.ID)
	w.Uint(`,"version":`, r.Version)
	w.Text(`,"contract":`, r.Contract)

	w.Text(`,"spec_digest":`, r.SpecDigest)
	w.Text(`,"engine":`, r.Engine)
	w.Text(`,"mode":`, string(r.Mode))
	w.Flag(`,"strict":`, r.Strict)
	w.Duration(`,"session_timeout":`, r.SessionTimeout)
	w.IntIf(`,"max_attempts":`, r.MaxAttempts)
	w.IntIf(`,"max_auto_decisions":`, r.MaxAutoDecisions)
	w.FlagIf(`,"repeatable":`, r.Repeatable)
	w.IntIf(`,"max_repeats":`, r.MaxRepeats)
	w.Text(`,"pool":`, r.Pool)
	w.TextIf(`,"key":`, r.Key)
	w.IntIf(`,"priority":`, r.Priority)
	w.TimeIf(`,"not_before":`, r.NotBefore)
	w.LabelsIf(`,"labels":`, r.Labels)
	w.Time(`,"created_at":`, r.CreatedAt)

	w.Text(`,"state":`, string(r.State))
	w.Time(`,"updated_at":`, r.UpdatedAt)
	w.TimeIf(`,"queued_at":`, r.QueuedAt)
	w.Int(`,"attempt":`, int64(r.Attempt))
	w.IntIf(`,"repeats":`, r.Repeats)
	w.FlagIf(`,"slot":`, r.Slot)
	w.TextIf(`,"owner":`, r.Owner)
	w.UintIf(`,"epoch":`, r.Epoch)
	w.Uint(`,"seq":`, r.Seq)
	w.UintIf(`,"local_seq":`, r.LocalSeq)

	w.TextIf(`,"profile":`, string(r.Profile))
	w.sessionIf(`,"session":`, r.Session)

	w.IntIf(`,"interactions":`, r.Interactions)
	w.questionIf(`,"pending":`, r.Pending)
	w.TimeIf(`,"wait_deadline_at":`, r.Deadline)
	w.answerIf(`,"answer":`, r.Answer)
	w.IntIf(`,"auto_decision_count":`, r.AutoDecisions)
	w.TimeIf(`,"last_auto_decision_at":`, r.LastAutoDecisionAt)

	w.Text(`,"recovery_state":`, string(r.Recovery))
	w.TimeIf(`,"recovered_at":`, r.RecoveredAt)
	w.TextIf(`,"recovery_reason":`, r.RecoveryReason)

	w.outputIf(`,"output":`, r.Output)
	w.TextIf(`,"final_text":`, r.FinalText)
	w.failureIf(`,"error":`, r.Error)
	textsIf(w, `,"warnings":`, r.Warnings)
	w.TextIf(`,"cancel_reason":`, r.CancelReason)
	w.TimeIf(`,"finished_at":`, r.FinishedAt)
	w.Put(`}`)
}

func (s *scanner) run(r *Run) {
	s.Need(`{"id":`)
	r.ID = s.OwnText()
	s.Uint(`,"version":`, &r.Version)
	word(s, `,"contract":`, &r.Contract)

	s.Text(`,"spec_digest":`, &r.SpecDigest)
	s.Text(`,"engine":`, &r.Engine)
	word(s, `,"mode":`, &r.Mode)
	s.Flag(`,"strict":`, &r.Strict)
	s.Duration(`,"session_timeout":`, &r.SessionTimeout)
	s.Int(`,"max_attempts":`, &r.MaxAttempts)
	s.Int(`,"max_auto_decisions":`, &r.MaxAutoDecisions)
	s.Flag(`,"repeatable":`, &r.Repeatable)
	s.Int(`,"max_repeats":`, &r.MaxRepeats)
	s.Own(`,"pool":`, &r.Pool)
	s.Own(`,"key":`, &r.Key)
	s.Int(`,"priority":`, &r.Priority)
	s.Time(`,"not_before":`, &r.NotBefore)
	s.Labels(`,"labels":`, &r.Labels)
	s.Time(`,"created_at":`, &r.CreatedAt)

	word(s, `,"state":`, &r.State)
	s.Time(`,"updated_at":`, &r.UpdatedAt)
	s.Time(`,"queued_at":`, &r.QueuedAt)
	s.Int(`,"attempt":`, &r.Attempt)
	s.Int(`,"repeats":`, &r.Repeats)
	s.Flag(`,"slot":`, &r.Slot)
	s.Text(`,"owner":`, &r.Owner)
	s.Uint(`,"epoch":`, &r.Epoch)
	s.Uint(`,"seq":`, &r.Seq)
	s.Uint(`,"local_seq":`, &r.LocalSeq)

	word(s, `,"profile":`, &r.Profile)
	s.session(`,"session":`, &r.Session)

	s.Int(`,"interactions":`, &r.Interactions)
	s.question(`,"pending":`, &r.Pending)
	s.Time(`,"wait_deadline_at":`, &r.Deadline)
	s.answer(`,"answer":`, &r.Answer)
	s.Int(`,"auto_decision_count":`, &r.AutoDecisions)
	s.Time(`,"last_auto_decision_at":`, &r.LastAutoDecisionAt)

	word(s, `,"recovery_state":`, &r.Recovery)
	s.Time(`,"recovered_at":`, &r.RecoveredAt)
	s.Text(`,"recovery_reason":`, &r.RecoveryReason)

	s.Exact(`,"output":`, &r.Output)
	s.Text(`,"final_text":`, &r.FinalText)
	s.failure(`,"error":`, &r.Error)
	words(s, `,"warnings":`, &r.Warnings)
	s.Text(`,"cancel_reason":`, &r.CancelReason)
	s.Time(`,"finished_at":`, &r.FinishedAt)
	s.Need(`}`)
}

// outputIf writes an output as it is: what an engine handed over comes back byte for byte. Its
// blanks and escapes are its own.
func (w *writer) outputIf(name string, v json.RawMessage) {
	switch {
	case len(v) == 0:
	case !validOutput(v):
		w.Err = cmp.Or(w.Err, errOutput)
	default:
		w.Put(name)
		w.Buf = append(w.Buf, v...)
	}
}

var errOutput = errors.New("output: it is not JSON, or has blanks around it")

func (w *writer) sessionIf(name string, s *Session) {
	if s == nil {
		return
	}
	w.Put(name)
	w.Text(`{"engine":`, s.Engine)
	w.TextIf(`,"version":`, s.Version)
	w.Bytes(`,"data":`, s.Data)
	w.Put(`}`)
}

func (s *scanner) session(name string, into **Session) {
	if !s.Member(name) {
		return
	}
	v := new(Session)
	s.Need(`{"engine":`)
	v.Engine = s.AText()
	s.Text(`,"version":`, &v.Version)
	s.Bytes(`,"data":`, &v.Data)
	s.Need(`}`)
	*into = v
}

func (w *writer) failureIf(name string, f *Failure) {
	if f == nil {
		return
	}
	w.Put(name)
	w.Text(`{"code":`, string(f.Code))
	w.Text(`,"message":`, f.Message)
	w.Put(`}`)
}

func (s *scanner) failure(name string, into **Failure) {
	if !s.Member(name) {
		return
	}
	f := new(Failure)
	s.Need(`{"code":`)
	f.Code = fsm.Code(s.AWord())
	s.Text(`,"message":`, &f.Message)
	s.Need(`}`)
	*into = f
}
