package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// Verdict has what Judge needs to know about a case.
type Verdict struct {
	Scenario *Scenario
	Case     string
	Journal  *Journal
	// Crashed says that a host ended without its will: runs may end as Plan.Broken says.
	Crashed bool
}

// Judge joins everything that is wrong with the state that a case has left.
func (v Verdict) Judge(ctx context.Context, s store.Store) error {
	var wrong []error
	for i := range v.Scenario.Runs {
		p := &v.Scenario.Runs[i]
		if err := v.run(ctx, s, p, v.Case+"."+p.Name); err != nil {
			wrong = append(wrong, fmt.Errorf("run %s: %w", p.Name, err))
		}
	}
	pools, err := s.Pools(ctx)
	wrong = append(wrong, err)
	for _, p := range pools {
		if p.Held != 0 {
			wrong = append(wrong, fmt.Errorf("pool %s: %d slots are held though all has ended", p.Name, p.Held))
		}
	}
	nodes, err := s.Nodes(ctx)
	if err == nil && len(nodes) > 0 {
		err = fmt.Errorf("%d nodes are registered though all have left", len(nodes))
	}
	return errors.Join(append(wrong, err)...)
}

// life is the final data of a run.
type life struct {
	run      store.Run
	records  []interaction.Record
	started  int // the number of turns
	requeued int
	putOff   int // the number of turns that failed for a passing reason
	// handedBack are the attempts that went back to the queue before their engine was called (J1).
	handedBack map[int]bool
	entries    []Entry
}

func (v Verdict) run(ctx context.Context, s store.Store, p *Plan, id string) error {
	if p.Prune {
		return pruned(ctx, s, id)
	}
	l, err := v.load(ctx, s, id)
	if err != nil {
		return err
	}
	return errors.Join(v.end(p, &l), l.executed(p), v.receipts(ctx, s, p, &l), v.forked(ctx, s, p, &l),
		v.hands(ctx, s, p, &l), l.votes(p), v.fed(ctx, s, &l))
}

// hands checks that each acknowledged change of a question is in the events, and that the question
// was reassigned once (K5).
func (v Verdict) hands(ctx context.Context, s store.Store, p *Plan, l *life) error {
	if !p.Hands || l.run.State != fsm.StateSucceeded {
		return nil
	}
	events, err := s.Events(ctx, l.run.ID, 0, 1000)
	if err != nil {
		return err
	}
	made := make(map[string]int)
	for _, stored := range events {
		e, err := fcmp.Decode(stored.Body)
		if err != nil {
			return err
		}
		var changed fcmp.Changed
		if e.Type == fcmp.TypeChanged {
			if err := e.Decode(&changed); err != nil {
				return err
			}
			made[changed.Change+" "+changed.Actor]++
		}
	}
	for _, e := range l.entries {
		if e.Hand != "" && made[e.Hand+" "+e.By] == 0 {
			return fmt.Errorf("%s by %q was acknowledged, and is in no event", e.Hand, e.By)
		}
	}
	to := l.records[0].Question.To
	if made["reassign "] != 1 || to == nil || !slices.Equal(to.Users, []string{"bob"}) {
		return fmt.Errorf("the question was put to others %d times, and in the end to %+v", made["reassign "], to)
	}
	return nil
}

// votes checks that everybody who was to vote has voted once (K5).
func (l *life) votes(p *Plan) error {
	if len(p.Voters) == 0 || l.run.State != fsm.StateSucceeded {
		return nil
	}
	var voters []string
	for _, vote := range l.records[0].Answer().Votes {
		voters = append(voters, vote.Actor)
	}
	if !slices.Equal(voters, p.Voters) {
		return fmt.Errorf("%q have voted, want %q", voters, p.Voters)
	}
	return nil
}

// forked checks that a fork knows the first question of its source, was given its own answer in
// place of the stored one, and that its source is as it was before.
func (v Verdict) forked(ctx context.Context, s store.Store, p *Plan, l *life) error {
	if p.Fork == nil {
		return nil
	}
	source := sourceOf(p, l.run.ID)
	run, records, err := store.ReadHistory(ctx, s, source)
	if err != nil {
		return fmt.Errorf("its source: %w", err)
	}
	if from := l.run.ForkedFrom; from == nil || from.RunID != source || from.Question != 1 {
		return fmt.Errorf("it is a fork of %+v, want question 1 of %s", from, source)
	}
	given := false
	for _, e := range l.entries {
		given = given || e.Attempt > 0 && e.Input == p.Fork.Reply
		if e.Source > 0 && e.Source != run.Version {
			return fmt.Errorf("its source had version %d before, and has %d", e.Source, run.Version)
		}
		if e.Attempt > 0 && e.Input == "prompt" {
			return errors.New("it began with the prompt")
		}
	}
	if l.run.State == fsm.StateSucceeded && !given {
		return errors.New("its agent was never given the answer that it was forked with")
	}
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	if err != nil {
		return err
	}
	defer c.Close()
	inherited, err := c.Inherited(ctx, l.run.ID)
	if err != nil || len(inherited) != 1 || inherited[0].Question.Prompt != records[0].Question.Prompt ||
		inherited[0].Answer().Text != p.Fork.Reply {
		return fmt.Errorf("it inherited %+v, %w", inherited, orNil(err))
	}
	return nil
}

// pruned checks that nothing is left of a deleted run.
func pruned(ctx context.Context, s store.Store, id string) error {
	_, err := s.Run(ctx, id)
	_, events := s.Events(ctx, id, 0, 10)
	if !errors.Is(err, store.ErrNotFound) || !errors.Is(events, store.ErrNotFound) {
		return fmt.Errorf("it was deleted, and its record says %w, its events say %w", orNil(err), orNil(events))
	}
	return nil
}

var errNone = errors.New("nothing is wrong")

func orNil(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// load reads the run and its log, and checks the log.
func (v Verdict) load(ctx context.Context, s store.Store, id string) (l life, err error) {
	if l.run, l.records, err = store.ReadHistory(ctx, s, id); err != nil {
		return l, err
	}
	l.entries = entriesOf(v.Journal, id)
	log, err := cast.ReadLog(ctx, s, &l.run)
	for _, e := range log {
		l.count(e.Body)
	}
	return l, err
}

func (l *life) count(body []byte) {
	event, err := fcmp.Decode(body)
	var w fcmp.Warning
	if err == nil && event.Type == fcmp.TypeWarning && event.Decode(&w) == nil &&
		w.Code == string(fsm.WarnTurnHandedBack) {
		if l.handedBack == nil {
			l.handedBack = make(map[int]bool)
		}
		l.handedBack[event.Meta.Attempt] = true
		l.requeued--
	}
	if err != nil || event.Type != fcmp.TypeStateChanged {
		return
	}
	var c fcmp.StateChanged
	if event.Decode(&c) != nil {
		return
	}
	switch fsm.Event(c.Trigger) {
	case fsm.EventTurnStarted:
		l.started++
	case fsm.EventRestartRequeue:
		l.requeued++
	case fsm.EventTurnYielded:
		l.putOff++
	}
}

// end checks that the run has ended as planned, that it holds nothing, and that each of its
// questions is settled.
func (v Verdict) end(p *Plan, l *life) error {
	r := &l.run
	end := End{State: r.State}
	if r.Error != nil {
		end.Code = r.Error.Code
	}
	if end != p.Ends && (!v.Crashed || !slices.Contains(p.Broken, end)) {
		return fmt.Errorf("it ended as %v (%+v), want %v", end, r.Error, p.Ends)
	}
	if r.Slot || r.Owner != "" || len(r.Open) > 0 || len(l.records) != r.Interactions {
		return fmt.Errorf("slot %t, owner %q, pending %v, %d of %d questions settled", r.Slot, r.Owner, r.FirstOpen(),
			len(l.records), r.Interactions)
	}
	if !v.Crashed && l.requeued > 0 && p.Leave == "" && p.Place == "" {
		return fmt.Errorf("%d turns were repeated though no host ended", l.requeued)
	}
	return nil
}

// executed checks that the agent was given every round once. An accepted answer may have been given
// again, but only if a turn was repeated and the spec allows that.
func (l *life) executed(p *Plan) error {
	seen := make(map[Entry]bool)
	given := make(map[string]int)
	for _, e := range l.entries {
		if e.Attempt == 0 {
			continue
		}
		if seen[e] {
			return fmt.Errorf("attempt %d was executed twice with %q", e.Attempt, e.Input)
		}
		seen[e] = true
		if l.handedBack[e.Attempt] {
			return fmt.Errorf("attempt %d was executed, and handed back as one that was not", e.Attempt)
		}
		given[e.Input]++
		if e.Attempt > l.run.Attempt {
			return fmt.Errorf("attempt %d was executed, and the run has %d", e.Attempt, l.run.Attempt)
		}
	}
	if l.started != l.run.Attempt {
		return fmt.Errorf("%d turns were started in %d attempts", l.started, l.run.Attempt)
	}
	yielded := l.putOff
	if l.run.MaxAttempts > 0 {
		yielded += len(l.handedBack)
	}
	if yielded != l.run.Yielded || l.putOff > 0 && p.Spec.Retry == nil && p.Resume == "" {
		return fmt.Errorf("%d turns were put off, and the record says %d", l.putOff, l.run.Yielded)
	}
	most := 1 + l.putOff
	if p.Spec.Repeatable {
		most += l.requeued
	} else if l.requeued > 0 {
		return errors.New("a turn was repeated though the spec does not allow it")
	}
	for input, n := range given {
		if n > most {
			return fmt.Errorf("%q was executed %d times, want at most %d", input, n, most)
		}
	}
	if l.run.State != fsm.StateSucceeded {
		return nil
	}
	for left := l.records; len(left) > 0; {
		var together []interaction.Answer
		for first := left[0].Question.Attempt; len(left) > 0 && left[0].Question.Attempt == first; left = left[1:] {
			together = append(together, left[0].Answer())
		}
		if said := interaction.Message(together); given[said] == 0 {
			return fmt.Errorf("answer %q to question %d was accepted and never executed", said, together[0].ID)
		}
	}
	return nil
}

// receipts checks that a person who replied with a key got one receipt, and gets the same one now.
func (v Verdict) receipts(ctx context.Context, s store.Store, p *Plan, l *life) error {
	first := make(map[string]*interaction.Receipt)
	for _, e := range l.entries {
		known := first[e.Key]
		switch {
		case e.Key == "":
		case e.Refused != "" && known != nil:
			return fmt.Errorf("key %s had a receipt, and was refused: %s", e.Key, e.Refused)
		case e.Refused != "":
		case known == nil:
			first[e.Key] = e.Receipt
		case !same(known, e.Receipt):
			return fmt.Errorf("key %s had the receipt %+v, and then %+v", e.Key, *known, *e.Receipt)
		}
	}
	c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, r := range l.records {
		if r.Resolution != interaction.UserReply {
			continue
		}
		for _, reply := range repliesTo(p, r.Question.ID) {
			again, err := c.Reply(ctx, l.run.ID, reply)
			known := first[reply.Key]
			if err != nil || !again.Replayed || known != nil && !same(known, &again) ||
				reply.Key == r.Key && !again.AcceptedAt.Equal(r.ResolvedAt) {
				return fmt.Errorf("key %s of a question settled by %s at %s had the receipt %+v; now it has %+v, %w",
					reply.Key, r.Key, r.ResolvedAt, known, again, orNil(err))
			}
			delete(first, reply.Key)
		}
	}
	for key := range first {
		return fmt.Errorf("key %s had a receipt, and no question was settled by it", key)
	}
	return nil
}

// same reports whether two receipts acknowledge the same reply.
func same(a, b *interaction.Receipt) bool {
	return a.RunID == b.RunID && a.ID == b.ID && a.Key == b.Key && a.AcceptedAt.Equal(b.AcceptedAt)
}
