package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// people answer questions, or leave them open, by plan. They learn of questions by hints, and read
// the inbox for missed ones.
type people struct {
	client *lifecycle.Client
	ledger *ledger
	asked  chan string
	work   sync.WaitGroup
	// undoable: a promotion may undo a question that people have read on the old primary, where its
	// commit was not acknowledged. The run asks it again.
	undoable bool

	mu   sync.Mutex
	seen map[string]int // guarded by mu; by run: the last question that a person deals with
}

func newPeople(c *lifecycle.Client, l *ledger) *people {
	return &people{client: c, ledger: l, asked: make(chan string, 4096), seen: make(map[string]int)}
}

// hint receives the store's hints, which come after commits.
func (p *people) hint(h store.Hint) {
	if h.State != fsm.StateWaitingUser {
		return
	}
	select {
	case p.asked <- h.RunID:
	default: // the inbox will show the question
	}
}

// run deals with questions until ctx ends, and then waits for the people that are still active.
func (p *people) run(ctx context.Context) {
	defer p.work.Wait()
	for range 8 {
		p.work.Go(func() {
			for {
				select {
				case id := <-p.asked:
					if run, err := p.client.Get(ctx, id); err == nil {
						p.answerOnce(ctx, run)
					}
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for ctx.Err() == nil {
		p.inbox(ctx)
		cast.Pause(ctx, 500*time.Millisecond)
	}
}

// inbox finds the questions for which no hint came.
func (p *people) inbox(ctx context.Context) {
	for open, err := range cast.Questions(ctx, p.client) {
		if err != nil {
			return
		}
		p.answerKnown(ctx, open)
	}
}

// answerKnown deals with an open question of the inbox, unless that was done already.
func (p *people) answerKnown(ctx context.Context, open lifecycle.InboxQuestion) {
	p.mu.Lock()
	known := p.seen[open.RunID] >= open.Question.ID
	p.mu.Unlock()
	if known {
		return
	}
	if run, err := p.client.Get(ctx, open.RunID); err == nil {
		p.answerOnce(ctx, run)
	}
}

// answerOnce deals with the run's open question, unless another goroutine does already.
func (p *people) answerOnce(ctx context.Context, run lifecycle.Run) {
	d := p.ledger.of(run.ID)
	if d == nil || len(run.Open) == 0 || run.Open[0].ID > len(d.plan.acts) {
		return // the checks report a run that asks more than it should
	}
	p.mu.Lock()
	known := p.seen[run.ID] >= run.Open[0].ID
	p.seen[run.ID] = max(p.seen[run.ID], run.Open[0].ID)
	p.mu.Unlock()
	if !known {
		p.work.Go(func() { p.deal(ctx, d, run) })
	}
}

// deal follows the plan.
func (p *people) deal(ctx context.Context, d *dealing, run lifecycle.Run) {
	q := run.Open[0].ID
	say := func(who string) *saying {
		return p.say(ctx, d, q, fmt.Sprintf("%s-%d", who, q), fmt.Sprintf("%s, says %s to question %d", run.ID, who, q))
	}
	what := d.plan.acts[q-1]
	switch {
	case d.plan.kind == parked:
		d.mu.Lock()
		d.open = run.FirstOpen()
		d.mu.Unlock()
	case what == late && !run.Deadline.IsZero():
		cast.Pause(ctx, time.Until(run.Deadline)-d.plan.delays[q-1]/4)
	case what != nothing:
		cast.Pause(ctx, d.plan.delays[q-1])
	}
	switch what {
	case nothing:
	case askAgain:
		first := say("ada")
		p.repeat(ctx, d, first)
	case otherwise:
		if first := say("ada"); first.accepted != nil {
			p.contradict(ctx, d, first)
		}
	case rivals:
		var other sync.WaitGroup
		other.Go(func() { say("grace") })
		say("ada")
		other.Wait()
	case stop:
		var other sync.WaitGroup
		other.Go(func() { p.cancel(ctx, d, "stopped while it was answered") })
		say("ada")
		other.Wait()
	default:
		say("ada")
	}
}

// insist makes a call until its outcome is known, each time for three seconds.
func (p *people) insist(ctx context.Context, call func(context.Context) error) error {
	return cast.Insist(ctx, unsureWait, func(err error) bool {
		if !cast.Definite(err) {
			p.ledger.unsure.Add(1)
		}
		return cast.Definite(err)
	}, func() error {
		within, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		return call(within)
	})
}

// say sends a reply until its outcome is known.
func (p *people) say(ctx context.Context, d *dealing, question int, key, text string) *saying {
	s := &saying{question: question, key: key, text: text}
	receipt, err := p.reply(ctx, d, s)
	switch {
	case err == nil:
		s.accepted = &receipt
		p.ledger.acknowledged()
	case p.undone(ctx, d, question, err):
		return s
	case cast.Definite(err):
		s.refused = err
		p.ledger.refusals.Add(1)
	}
	d.saying(s)
	return s
}

// undone reports that a promotion has undone the question. The person then waits for it again.
func (p *people) undone(ctx context.Context, d *dealing, question int, refusal error) bool {
	if !p.undoable || !errors.Is(refusal, lifecycle.ErrNotWaiting) {
		return false
	}
	run, err := p.client.Get(ctx, d.plan.id)
	open := err == nil && len(run.Open) > 0 && run.Open[0].ID == question // asked again by now
	if err != nil || run.State.Terminal() || run.Interactions >= question && !open {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[d.plan.id] = min(p.seen[d.plan.id], question-1)
	return true
}

func (p *people) reply(ctx context.Context, d *dealing, s *saying) (receipt interaction.Receipt, _ error) {
	return receipt, p.insist(ctx, func(ctx context.Context) (err error) {
		receipt, err = p.client.Reply(ctx, d.plan.id, interaction.Reply{ID: s.question, Text: s.text, Key: s.key,
			Actor: lifecycle.Actor{ID: "somebody"}})
		return err
	})
}

// repeat sends the same reply again, which must get the same answer.
func (p *people) repeat(ctx context.Context, d *dealing, s *saying) {
	if s.accepted == nil {
		return
	}
	receipt, err := p.reply(ctx, d, s)
	switch {
	case err == nil:
		p.ledger.duplicates.Add(1)
		if !receipt.Replayed || !receipt.AcceptedAt.Equal(s.accepted.AcceptedAt) || receipt.ID != s.accepted.ID {
			d.fault(s, fmt.Sprintf("the same reply was given another receipt: %+v, first %+v", receipt, *s.accepted))
		}
	case cast.Definite(err):
		d.fault(s, fmt.Sprintf("the same reply was accepted first, and then refused: %v", err))
	}
}

// contradict sends another text with the same key, which must be refused.
func (p *people) contradict(ctx context.Context, d *dealing, s *saying) {
	other := *s
	other.text += ", and something else"
	_, err := p.reply(ctx, d, &other)
	switch {
	case err == nil:
		d.fault(s, "another reply with the same key was accepted")
	case errors.Is(err, lifecycle.ErrKeyConflict):
		p.ledger.duplicates.Add(1)
	case cast.Definite(err):
		d.fault(s, fmt.Sprintf("another reply with the same key was refused, but not for that: %v", err))
	}
}

func (d *dealing) fault(s *saying, what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.faults = append(s.faults, what)
}

// cancel cancels the run, and repeats that until the outcome is known.
func (p *people) cancel(ctx context.Context, d *dealing, reason string) {
	w := &withdrawal{reason: reason}
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.canceled = append(d.canceled, w)
	}()
	tries := 0
	err := p.insist(ctx, func(ctx context.Context) error {
		tries++
		return p.client.Cancel(ctx, d.plan.id, reason)
	})
	w.unsure = tries > 1 || err != nil && !cast.Definite(err)
	switch {
	case err == nil:
		w.accepted = true
		p.ledger.cancels.Add(1)
	case cast.Definite(err):
		w.refused = err
	}
}
