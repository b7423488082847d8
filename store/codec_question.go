package store

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
)

// What package interaction gives to be stored: a question, its answer, and the entry of the history
// that both become.

func (w *writer) record(r *interaction.Record) {
	w.Put(`{"question":`)
	w.question(&r.Question)
	w.TextIf(`,"resolution_mode":`, string(r.Resolution))
	w.TextIf(`,"response":`, r.Response)
	w.TextIf(`,"actor":`, r.Actor)
	w.TimeIf(`,"resolved_at":`, r.ResolvedAt)
	w.TextIf(`,"auto_decide_reason":`, r.AutoDecideReason)
	w.TextIf(`,"key":`, r.Key)
	w.TextIf(`,"digest":`, r.Digest)
	w.Put(`}`)
}

func (w *writer) questionIf(name string, q *interaction.Question) {
	if q != nil {
		w.Put(name)
		w.question(q)
	}
}

func (w *writer) question(q *interaction.Question) {
	w.Int(`{"interaction_id":`, int64(q.ID))
	w.Int(`,"attempt":`, int64(q.Attempt))
	w.Text(`,"kind":`, string(q.Kind))
	w.Text(`,"prompt":`, q.Prompt)
	w.optionsIf(`,"options":`, q.Options)
	textsIf(w, `,"required_fields":`, q.RequiredFields)
	w.ValuesIf(`,"ui_hints":`, q.UIHints)
	w.TextIf(`,"context":`, q.Context)
	w.TextIf(`,"default_decision_policy":`, string(q.DefaultPolicy))
	w.Time(`,"asked_at":`, q.AskedAt)
	w.Put(`}`)
}

func (s *scanner) question(name string, into **interaction.Question) {
	if !s.Member(name) {
		return
	}
	q := new(interaction.Question)
	s.Need(`{"interaction_id":`)
	q.ID = s.AnInt()
	s.Int(`,"attempt":`, &q.Attempt)
	word(s, `,"kind":`, &q.Kind)
	s.Text(`,"prompt":`, &q.Prompt)
	s.options(`,"options":`, &q.Options)
	words(s, `,"required_fields":`, &q.RequiredFields)
	s.Values(`,"ui_hints":`, &q.UIHints)
	s.Text(`,"context":`, &q.Context)
	word(s, `,"default_decision_policy":`, &q.DefaultPolicy)
	s.Time(`,"asked_at":`, &q.AskedAt)
	s.Need(`}`)
	*into = q
}

func (w *writer) optionsIf(name string, options []interaction.Option) {
	if len(options) == 0 {
		return
	}
	w.Put(name)
	before := `[`
	for _, o := range options {
		w.Put(before)
		w.Text(`{"label":`, o.Label)
		w.Text(`,"value":`, o.Value)
		w.Put(`}`)
		before = `,`
	}
	w.Put(`]`)
}

func (s *scanner) options(name string, into *[]interaction.Option) {
	if !s.Member(name) {
		return
	}
	var few [4]interaction.Option
	list := few[:0]
	s.Need(`[`)
	for more := s.Going(); more; more = s.Member(`,`) {
		var o interaction.Option
		s.Need(`{"label":`)
		o.Label = s.AText()
		s.Text(`,"value":`, &o.Value)
		s.Need(`}`)
		list = append(list, o)
	}
	s.Need(`]`)
	*into = slices.Clone(list)
}

func (w *writer) answerIf(name string, a *interaction.Answer) {
	if a == nil {
		return
	}
	w.Put(name)
	w.Int(`{"interaction_id":`, int64(a.ID))
	w.Text(`,"resolution_mode":`, string(a.Resolution))
	w.Text(`,"text":`, a.Text)
	w.TextIf(`,"actor":`, a.Actor)
	w.Time(`,"accepted_at":`, a.AcceptedAt)
	w.autoIf(`,"auto":`, a.Auto)
	w.Put(`}`)
}

func (s *scanner) answer(name string, into **interaction.Answer) {
	if !s.Member(name) {
		return
	}
	a := new(interaction.Answer)
	s.Need(`{"interaction_id":`)
	a.ID = s.AnInt()
	word(s, `,"resolution_mode":`, &a.Resolution)
	s.Text(`,"text":`, &a.Text)
	s.Text(`,"actor":`, &a.Actor)
	s.Time(`,"accepted_at":`, &a.AcceptedAt)
	s.auto(`,"auto":`, &a.Auto)
	s.Need(`}`)
	*into = a
}

func (w *writer) autoIf(name string, a *interaction.AutoDecision) {
	if a == nil {
		return
	}
	w.Put(name)
	w.Text(`{"source":`, a.Source)
	w.Int(`,"interaction_id":`, int64(a.InteractionID))
	w.Text(`,"reason":`, a.Reason)
	w.Text(`,"policy":`, string(a.Policy))
	w.Text(`,"instruction":`, a.Instruction)
	w.Put(`}`)
}

func (s *scanner) auto(name string, into **interaction.AutoDecision) {
	if !s.Member(name) {
		return
	}
	a := new(interaction.AutoDecision)
	s.Need(`{"source":`)
	a.Source = s.AWord()
	s.Int(`,"interaction_id":`, &a.InteractionID)
	word(s, `,"reason":`, &a.Reason)
	word(s, `,"policy":`, &a.Policy)
	s.Text(`,"instruction":`, &a.Instruction)
	s.Need(`}`)
	*into = a
}
