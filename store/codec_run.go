package store

// run writes the members of a run in the order of its fields. Each name is written with what stands before its value.
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

func (w *writer) failureIf(name string, f *Failure) {
	if f == nil {
		return
	}
	w.put(name)
	w.text(`{"code":`, string(f.Code))
	w.text(`,"message":`, f.Message)
	w.put(`}`)
}
