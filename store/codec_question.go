package store

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

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

func (s *scanner) question(name string, into **interaction.Question) {
	if !s.member(name) {
		return
	}
	q := new(interaction.Question)
	s.need(`{"interaction_id":`)
	q.ID = s.integer()
	s.int(`,"attempt":`, &q.Attempt)
	word(s, `,"kind":`, &q.Kind)
	s.text(`,"prompt":`, &q.Prompt)
	s.options(`,"options":`, &q.Options)
	words(s, `,"required_fields":`, &q.RequiredFields)
	s.values(`,"ui_hints":`, &q.UIHints)
	s.text(`,"context":`, &q.Context)
	word(s, `,"default_decision_policy":`, &q.DefaultPolicy)
	s.time(`,"asked_at":`, &q.AskedAt)
	s.need(`}`)
	*into = q
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

func (s *scanner) options(name string, into *[]interaction.Option) {
	if !s.member(name) {
		return
	}
	var few [4]interaction.Option
	list := few[:0]
	s.need(`[`)
	for more := s.at >= 0; more; more = s.member(`,`) {
		var o interaction.Option
		s.need(`{"label":`)
		o.Label = s.value()
		s.text(`,"value":`, &o.Value)
		s.need(`}`)
		list = append(list, o)
	}
	s.need(`]`)
	*into = slices.Clone(list)
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

func (s *scanner) answer(name string, into **interaction.Answer) {
	if !s.member(name) {
		return
	}
	a := new(interaction.Answer)
	s.need(`{"interaction_id":`)
	a.ID = s.integer()
	word(s, `,"resolution_mode":`, &a.Resolution)
	s.text(`,"text":`, &a.Text)
	s.text(`,"actor":`, &a.Actor)
	s.time(`,"accepted_at":`, &a.AcceptedAt)
	s.auto(`,"auto":`, &a.Auto)
	s.need(`}`)
	*into = a
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

func (s *scanner) auto(name string, into **interaction.AutoDecision) {
	if !s.member(name) {
		return
	}
	a := new(interaction.AutoDecision)
	s.need(`{"source":`)
	a.Source = s.word()
	s.int(`,"interaction_id":`, &a.InteractionID)
	word(s, `,"reason":`, &a.Reason)
	word(s, `,"policy":`, &a.Policy)
	s.text(`,"instruction":`, &a.Instruction)
	s.need(`}`)
	*into = a
}
