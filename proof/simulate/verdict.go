package simulate

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// ending is the final data of a run.
type ending struct {
	world   *world
	plan    *runPlan
	run     store.Run
	settled []interaction.Record
	log     []fcmp.Event
	calls   []*call
	people  []*person
}

// judge compares, after the end, the participants' answers.
func (w *world) judge() {
	slices.SortFunc(w.people, func(p, o *person) int { return strings.Compare(p.view.name, o.view.name) })
	var lines bytes.Buffer
	var endings []*ending
	lived := slices.Clone(w.plan.runs)
	for _, p := range w.plan.runs {
		if f := p.forked(); f != nil && w.witness.runs[f.spec.ID] != nil {
			lived = append(lived, f)
		}
	}
	for _, p := range lived {
		e, err := w.read(p, &lines)
		if err != nil {
			w.fault(fmt.Sprintf("run %s cannot be read after the end: %v", p.spec.ID, err))
			continue
		}
		for _, check := range []func(*ending) string{e.ruled, e.ruledOnce, e.forgot, e.answered, e.executed, e.followed,
			e.meant, e.waited, e.claimed, e.voted, e.heldAsMeant, e.usedAsStored} {
			if why := check(e); why != "" {
				w.fault(fmt.Sprintf("run %s: %s", e.run.ID, why))
			}
		}
		w.recount(e)
		endings = append(endings, e)
	}
	if why := w.forksFound(endings); why != "" {
		w.fault(why)
	}
	if why := w.judgeFeed(endings); why != "" {
		w.fault(why)
	}
	w.witness.pools()
	report, err := audit.Check(&lines)
	if err != nil {
		w.fault(err.Error())
	} else if report.First() != nil {
		w.fault(report.First().Error())
	}
	if len(w.witness.nodes) > 0 {
		w.saw("a node left nothing but its lease behind")
	}
}

// read collects the final data of a run, and writes its log to lines.
func (w *world) read(p *runPlan, lines *bytes.Buffer) (*ending, error) {
	e := &ending{world: w, plan: p, calls: w.turns.calls[p.spec.ID]}
	var err error
	if e.run, e.settled, err = store.ReadHistory(w.ctx, w.store, p.spec.ID); err != nil {
		return nil, err
	}
	stored, err := w.store.Events(w.ctx, p.spec.ID, 0, 10_000)
	if err != nil {
		return nil, err
	}
	for _, s := range stored {
		w.trace.add(0, string(s.Body))
		lines.Write(s.Body)
		lines.WriteByte('\n')
		event, err := fcmp.Decode(s.Body)
		if err != nil {
			return nil, err
		}
		e.log = append(e.log, event)
	}
	if uint64(len(e.log)) != e.run.Seq {
		w.fault(fmt.Sprintf("run %s ends at event %d, and its log has %d", p.spec.ID, e.run.Seq, len(e.log)))
	}
	for _, q := range w.people {
		if q.run == p {
			e.people = append(e.people, q)
		}
	}
	return e, nil
}

// answered reports a reply that was lost, or accepted twice. Each reply reported as accepted must
// be in the history under its key, and each reply in the history must have been sent by a person.
func (e *ending) answered(*ending) string {
	replies := make(map[int]acceptedReply)
	maybe := make(map[string]bool)
	for _, p := range e.people {
		for text := range p.maybe {
			maybe[text] = true
		}
		for _, t := range p.accepted {
			if e.plan.need(t.reply.ID).several() {
				continue // see voted
			}
			if first, twice := replies[t.reply.ID]; twice && !reflect.DeepEqual(first.reply, t.reply) {
				return fmt.Sprintf("two replies to %d were accepted: %q and %q", t.reply.ID, first.reply.Text,
					t.reply.Text)
			}
			replies[t.reply.ID] = t
		}
	}
	for _, r := range e.settled {
		for _, p := range e.people {
			if r.Key != "" && p.refused[r.Key] {
				return fmt.Sprintf("%s was told that the reply to %d came too late, and it was accepted", p.view.name,
					r.Question.ID)
			}
		}
		if e.plan.need(r.Question.ID).several() {
			continue
		}
		t, known := replies[r.Question.ID]
		delete(replies, r.Question.ID)
		switch {
		case known && (r.Resolution != interaction.UserReply || r.Response != t.reply.Text || r.Key != t.reply.Key ||
			r.Decision != t.reply.Decision || string(r.Value) != string(t.reply.Value)):
			return fmt.Sprintf("the reply %q to %d was accepted, and it was settled as %s with %q", t.reply.Text,
				r.Question.ID, r.Resolution, r.Response)
		case !known && r.Resolution == interaction.UserReply && !maybe[r.Response] && r.Key == "" &&
			!byItself(r.Actor):
			return fmt.Sprintf("interaction %d was settled with %q, and nobody said so", r.Question.ID, r.Response)
		}
	}
	for id, t := range replies {
		return fmt.Sprintf("the reply %q to %d was accepted, and the history does not know it", t.reply.Text, id)
	}
	return ""
}

// answers returns the agents' answers, by rounds of questions.
func (e *ending) answers() (texts []string) {
	rounds, _ := e.rounds() // ruled has the error
	for i := range rounds {
		if rounds[i].over() {
			texts = append(texts, rounds[i].heard())
		}
	}
	return texts
}

// requeued counts how often the event put a turn of the run back into the queue.
func (e *ending) requeued(by fsm.Event) (n int) {
	for _, event := range e.log {
		var c fcmp.StateChanged
		if event.Type == fcmp.TypeStateChanged && event.Decode(&c) == nil &&
			c.Trigger == string(by) {
			n++
		}
	}
	return n
}

// handedBack are the attempts that went back to the queue before their engine was called (J1).
func (e *ending) handedBack() map[int]bool {
	attempts := make(map[int]bool)
	for _, event := range e.log {
		var w fcmp.Warning
		if event.Type == fcmp.TypeWarning && event.Decode(&w) == nil && w.Code == string(fsm.WarnTurnHandedBack) {
			attempts[event.Meta.Attempt] = true
		}
	}
	return attempts
}

// executed explains which answer was not executed, or was executed too often. Each must be executed
// once; it may be executed again only if the run may repeat turns.
func (e *ending) executed(*ending) string {
	requeued, putOff, handedBack := e.requeued(fsm.EventRestartRequeue), e.requeued(fsm.EventTurnYielded),
		e.handedBack()
	requeued -= len(handedBack)
	if requeued > 0 && !e.plan.spec.Repeatable {
		return "a turn was repeated, which it may not be"
	}
	yielded := putOff
	if e.run.MaxAttempts > 0 {
		yielded += len(handedBack)
	}
	if yielded != e.run.Yielded {
		return fmt.Sprintf("%d turns were put off, and the record says %d", putOff, e.run.Yielded)
	}
	heard, answers := make(map[int]int), e.answers()
	for _, c := range e.calls {
		if handedBack[c.attempt] {
			return fmt.Sprintf("attempt %d was executed, and handed back as one that was not", c.attempt)
		}
		heard[c.round]++
		if c.round > len(answers) {
			return fmt.Sprintf("attempt %d went on with answers of round %d, which nobody gave", c.attempt, c.round)
		}
		if before := e.plan.begins(); c.round == 0 && before > 0 && c.text != e.plan.origin.heard[before-1] {
			return fmt.Sprintf("attempt %d of a fork began with %q, and the answer is %q", c.attempt, c.text,
				e.plan.origin.heard[before-1])
		}
		if c.round > 0 && c.text != answers[c.round-1] {
			return fmt.Sprintf("attempt %d went on with %q, and the answer of round %d is %q", c.attempt, c.text,
				c.round, answers[c.round-1])
		}
	}
	for round, n := range heard {
		if n > 1+requeued+putOff {
			return fmt.Sprintf("the answers of round %d were executed %d times, %d turns were repeated, and %d put off",
				round, n, requeued, putOff)
		}
	}
	if e.run.State != fsm.StateSucceeded {
		return ""
	}
	for round := range len(answers) + 1 {
		if heard[round] == 0 {
			return fmt.Sprintf("it succeeded, and the answers of round %d were never executed", round)
		}
	}
	if e.plan.origin != nil {
		answers = slices.Concat(e.plan.origin.heard, answers)
	}
	if want := said(answers); e.run.FinalText != want {
		return fmt.Sprintf("its agent says %q, and should say %q", e.run.FinalText, want)
	}
	return ""
}

// followed reports a follower that missed an event, or got a nonexistent one.
func (e *ending) followed(*ending) string {
	for _, p := range e.people {
		if p.final != nil && (p.final.Version != e.run.Version || p.final.State != e.run.State) {
			return fmt.Sprintf("%s was told that it ended as %s at version %d, and it did as %s at %d", p.view.name,
				p.final.State, p.final.Version, e.run.State, e.run.Version)
		}
		if len(p.seen) > len(e.log) {
			return fmt.Sprintf("%s saw %d events of %d", p.view.name, len(p.seen), len(e.log))
		}
		for i, s := range p.seen {
			if s.Seq != uint64(i+1) || s.Type != e.log[i].Type || !s.TS.Equal(e.log[i].TS) {
				return fmt.Sprintf("%s saw event %d, a %s, in place of %d, a %s", p.view.name, s.Seq, s.Type, i+1,
					e.log[i].Type)
			}
		}
		follower := slices.ContainsFunc(e.plan.followers, func(f followerPlan) bool { return f.name == p.view.name })
		if follower && e.run.State.Terminal() && !e.world.open[e.run.ID] &&
			len(p.seen) != len(e.log) {
			return fmt.Sprintf("%s saw %d events of %d", p.view.name, len(p.seen), len(e.log))
		}
		if p.canceled && e.run.State != fsm.StateCanceled {
			return fmt.Sprintf("%s was told that it is canceled, and it is %s", p.view.name, e.run.State)
		}
	}
	return ""
}
