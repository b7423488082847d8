package store

import "github.com/interlude-go/interlude/fsm"

// The members of a run in the order of its fields, written and read. A name stands with what is written before its value. What is left
// out when it is empty may be missing when it is read; the first member of an object never is.

func (w *writer) run(r *Run) {
	w.text(`{"id":`, r.ID)
	w.uint(`,"version":`, r.Version)
	w.text(`,"contract":`, r.Contract)

	w.text(`,"spec_digest":`, r.SpecDigest)
	w.text(`,"engine":`, r.Engine)
	w.text(`,"mode":`, string(r.Mode))
	w.flag(`,"strict":`, r.Strict)
	w.int(`,"session_timeout":`, int64(r.SessionTimeout))
	w.intIf(`,"max_attempts":`, r.MaxAttempts)
	w.intIf(`,"max_auto_decisions":`, r.MaxAutoDecisions)
	w.flagIf(`,"repeatable":`, r.Repeatable)
	w.text(`,"pool":`, r.Pool)
	w.textIf(`,"key":`, r.Key)
	w.intIf(`,"priority":`, r.Priority)
	w.timeIf(`,"not_before":`, r.NotBefore)
	w.labelsIf(`,"labels":`, r.Labels)
	w.time(`,"created_at":`, r.CreatedAt)

	w.text(`,"state":`, string(r.State))
	w.time(`,"updated_at":`, r.UpdatedAt)
	w.timeIf(`,"queued_at":`, r.QueuedAt)
	w.int(`,"attempt":`, int64(r.Attempt))
	w.flagIf(`,"slot":`, r.Slot)
	w.textIf(`,"owner":`, r.Owner)
	w.uintIf(`,"epoch":`, r.Epoch)
	w.uint(`,"seq":`, r.Seq)
	w.uintIf(`,"local_seq":`, r.LocalSeq)

	w.textIf(`,"profile":`, string(r.Profile))
	w.sessionIf(`,"session":`, r.Session)

	w.intIf(`,"interactions":`, r.Interactions)
	w.questionIf(`,"pending":`, r.Pending)
	w.timeIf(`,"wait_deadline_at":`, r.Deadline)
	w.answerIf(`,"answer":`, r.Answer)
	w.intIf(`,"auto_decision_count":`, r.AutoDecisions)
	w.timeIf(`,"last_auto_decision_at":`, r.LastAutoDecisionAt)

	w.text(`,"recovery_state":`, string(r.Recovery))
	w.timeIf(`,"recovered_at":`, r.RecoveredAt)
	w.textIf(`,"recovery_reason":`, r.RecoveryReason)

	w.rawIf(`,"output":`, r.Output)
	w.textIf(`,"final_text":`, r.FinalText)
	w.failureIf(`,"error":`, r.Error)
	textsIf(w, `,"warnings":`, r.Warnings)
	w.textIf(`,"cancel_reason":`, r.CancelReason)
	w.timeIf(`,"finished_at":`, r.FinishedAt)
	w.put(`}`)
}

func (s *scanner) run(r *Run) {
	s.need(`{"id":`)
	r.ID = s.ownText()
	s.uint(`,"version":`, &r.Version)
	word(s, `,"contract":`, &r.Contract)

	s.text(`,"spec_digest":`, &r.SpecDigest)
	s.text(`,"engine":`, &r.Engine)
	word(s, `,"mode":`, &r.Mode)
	s.flag(`,"strict":`, &r.Strict)
	s.duration(`,"session_timeout":`, &r.SessionTimeout)
	s.int(`,"max_attempts":`, &r.MaxAttempts)
	s.int(`,"max_auto_decisions":`, &r.MaxAutoDecisions)
	s.flag(`,"repeatable":`, &r.Repeatable)
	s.own(`,"pool":`, &r.Pool)
	s.own(`,"key":`, &r.Key)
	s.int(`,"priority":`, &r.Priority)
	s.time(`,"not_before":`, &r.NotBefore)
	s.labels(`,"labels":`, &r.Labels)
	s.time(`,"created_at":`, &r.CreatedAt)

	word(s, `,"state":`, &r.State)
	s.time(`,"updated_at":`, &r.UpdatedAt)
	s.time(`,"queued_at":`, &r.QueuedAt)
	s.int(`,"attempt":`, &r.Attempt)
	s.flag(`,"slot":`, &r.Slot)
	s.text(`,"owner":`, &r.Owner)
	s.uint(`,"epoch":`, &r.Epoch)
	s.uint(`,"seq":`, &r.Seq)
	s.uint(`,"local_seq":`, &r.LocalSeq)

	word(s, `,"profile":`, &r.Profile)
	s.session(`,"session":`, &r.Session)

	s.int(`,"interactions":`, &r.Interactions)
	s.question(`,"pending":`, &r.Pending)
	s.time(`,"wait_deadline_at":`, &r.Deadline)
	s.answer(`,"answer":`, &r.Answer)
	s.int(`,"auto_decision_count":`, &r.AutoDecisions)
	s.time(`,"last_auto_decision_at":`, &r.LastAutoDecisionAt)

	word(s, `,"recovery_state":`, &r.Recovery)
	s.time(`,"recovered_at":`, &r.RecoveredAt)
	s.text(`,"recovery_reason":`, &r.RecoveryReason)

	s.raw(`,"output":`, &r.Output)
	s.text(`,"final_text":`, &r.FinalText)
	s.failure(`,"error":`, &r.Error)
	words(s, `,"warnings":`, &r.Warnings)
	s.text(`,"cancel_reason":`, &r.CancelReason)
	s.time(`,"finished_at":`, &r.FinishedAt)
	s.need(`}`)
}

func (w *writer) sessionIf(name string, s *Session) {
	if s == nil {
		return
	}
	w.put(name)
	w.text(`{"engine":`, s.Engine)
	w.textIf(`,"version":`, s.Version)
	w.bytes(`,"data":`, s.Data)
	w.put(`}`)
}

func (s *scanner) session(name string, into **Session) {
	if !s.member(name) {
		return
	}
	v := new(Session)
	s.need(`{"engine":`)
	v.Engine = s.value()
	s.text(`,"version":`, &v.Version)
	s.bytes(`,"data":`, &v.Data)
	s.need(`}`)
	*into = v
}

func (w *writer) failureIf(name string, f *Failure) {
	if f == nil {
		return
	}
	w.put(name)
	w.text(`{"code":`, string(f.Code))
	w.text(`,"message":`, f.Message)
	w.put(`}`)
}

func (s *scanner) failure(name string, into **Failure) {
	if !s.member(name) {
		return
	}
	f := new(Failure)
	s.need(`{"code":`)
	f.Code = fsm.Code(s.word())
	s.text(`,"message":`, &f.Message)
	s.need(`}`)
	*into = f
}
