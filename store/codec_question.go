package store

import "github.com/interlude-go/interlude/interaction"

// What package interaction gives to be stored: a question, its answer, and the entry of the history that both become.

func (w *writer) record(r *interaction.Record) {
	w.put(`{"question":`)
	w.question(&r.Question)
	w.textIf(`,"resolution_mode":`, string(r.Resolution))
	w.textIf(`,"response":`, r.Response)
	w.textIf(`,"actor":`, r.Actor)
	w.timeIf(`,"resolved_at":`, r.ResolvedAt)
	w.textIf(`,"auto_decide_reason":`, r.AutoDecideReason)
	w.textIf(`,"key":`, r.Key)
	w.textIf(`,"digest":`, r.Digest)
	w.put(`}`)
}

func (w *writer) questionIf(name string, q *interaction.Question) {
	if q != nil {
		w.put(name)
		w.question(q)
	}
}

func (w *writer) question(q *interaction.Question) {
	w.int(`{"interaction_id":`, int64(q.ID))
	w.int(`,"attempt":`, int64(q.Attempt))
	w.text(`,"kind":`, string(q.Kind))
	w.text(`,"prompt":`, q.Prompt)
	w.optionsIf(`,"options":`, q.Options)
	textsIf(w, `,"required_fields":`, q.RequiredFields)
	w.valuesIf(`,"ui_hints":`, q.UIHints)
	w.textIf(`,"context":`, q.Context)
	w.textIf(`,"default_decision_policy":`, string(q.DefaultPolicy))
	w.time(`,"asked_at":`, q.AskedAt)
	w.put(`}`)
}

func (w *writer) optionsIf(name string, options []interaction.Option) {
	if len(options) == 0 {
		return
	}
	w.put(name)
	before := `[`
	for _, o := range options {
		w.put(before)
		w.text(`{"label":`, o.Label)
		w.text(`,"value":`, o.Value)
		w.put(`}`)
		before = `,`
	}
	w.put(`]`)
}

func (w *writer) answerIf(name string, a *interaction.Answer) {
	if a == nil {
		return
	}
	w.put(name)
	w.int(`{"interaction_id":`, int64(a.ID))
	w.text(`,"resolution_mode":`, string(a.Resolution))
	w.text(`,"text":`, a.Text)
	w.textIf(`,"actor":`, a.Actor)
	w.time(`,"accepted_at":`, a.AcceptedAt)
	w.autoIf(`,"auto":`, a.Auto)
	w.put(`}`)
}

func (w *writer) autoIf(name string, a *interaction.AutoDecision) {
	if a == nil {
		return
	}
	w.put(name)
	w.text(`{"source":`, a.Source)
	w.int(`,"interaction_id":`, int64(a.InteractionID))
	w.text(`,"reason":`, a.Reason)
	w.text(`,"policy":`, string(a.Policy))
	w.text(`,"instruction":`, a.Instruction)
	w.put(`}`)
}
