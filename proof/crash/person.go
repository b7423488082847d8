package crash

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// person sees one run through: submits it, answers its questions, and does whatever else the plan
// says. On the next host, the person starts again from the beginning, as people do who do not know
// how far the run came.
type person struct {
	*Host

	lc   *lifecycle.Lifecycle
	plan *Plan
	id   string
}

// errLeave asks for the host to be shut down now.
var errLeave = errors.New("crash: the host leaves")

func (p *person) follow(ctx context.Context) error {
	if p.plan.Prune && p.Role == Last { // it may be deleted already, and must not be submitted again
		if _, err := p.watch.Get(ctx, p.id); errors.Is(err, store.ErrNotFound) && p.hasStarted() {
			return nil
		}
	}
	if p.plan.Place != "" && p.Role != First {
		if err := p.rescued(ctx); err != nil {
			return err
		}
	}
	if err := p.create(ctx); err != nil {
		return err
	}
	if err := p.at(ctx, Queued, 0); err != nil {
		return p.left(err)
	}
	asked := 0
	for e, err := range p.watch.Events(ctx, p.id, 0) {
		switch {
		case err != nil:
			return err
		case e.Type == fcmp.TypeInputRequired:
			asked++
			err = p.at(ctx, Asked, asked)
		case e.Type == fcmp.TypeStateChanged && e.Meta.Attempt == 1 && p.plan.Leave == Claimed:
			err = p.at(ctx, Claimed, 0)
		case isHold(&e):
			err = p.at(ctx, Held, 0)
		case e.Type == fcmp.TypeMessageIntermediate:
			err = p.at(ctx, Spoke, 0)
		case e.Terminal():
			err = p.at(ctx, Ended, 0)
		}
		if err != nil {
			return p.left(err)
		}
	}
	return nil
}

// create submits the run, or forks it.
func (p *person) create(ctx context.Context) error {
	if p.plan.Fork == nil {
		return p.insist(func() error {
			_, err := p.lc.Submit(ctx, p.plan.spec(p.id))
			return err
		})
	}
	source := sourceOf(p.plan, p.id)
	var run store.Run
	if err := p.until(ctx, func() (ended bool) {
		var err error
		run, err = p.watch.Get(ctx, source)
		return err == nil && run.State.Terminal()
	}); err != nil {
		return err
	}
	if err := p.Journal.Add(Entry{Run: p.id, Source: run.Version}); err != nil {
		return err
	}
	return p.insist(func() error {
		_, err := p.lc.Fork(ctx, source, lifecycle.At{Question: 1, Answer: lifecycle.Reply{Text: p.plan.Fork.Reply},
			Actor: lifecycle.Actor{ID: "ada"}, ID: p.id})
		return err
	})
}

// sourceOf is the id of the run that the run with this id is a fork of.
func sourceOf(p *Plan, id string) string { return strings.TrimSuffix(id, p.Name) + p.Fork.Of }

// isHold reports whether the run is held from the event on, until a decision.
func isHold(e *fcmp.Event) bool {
	var y fcmp.Yielded
	return e.Type == fcmp.TypeBlocked || e.Type == fcmp.TypeYielded && e.Decode(&y) == nil && len(y.Choices) > 0
}

// hasStarted reports whether an agent was given the run.
func (p *person) hasStarted() bool { return len(entriesOf(p.Journal, p.id)) > 0 }

func (p *person) left(err error) error {
	if errors.Is(err, errLeave) {
		return nil
	}
	return err
}

// at follows the plan for the moment.
func (p *person) at(ctx context.Context, m Moment, question int) error {
	first := question <= 1
	if p.plan.Renewed == m && p.Role == Second {
		select {
		case <-p.Store.Renewed():
		case <-ctx.Done():
			return ErrGone
		}
	}
	if first && (p.Role == First && p.plan.Place == m || p.Role == Second && p.plan.Leave == m) {
		return errLeave
	}
	if first && p.plan.Lose == m {
		p.sticky.Kill(p.id)
	}
	if first && p.plan.Cancel == m {
		return p.cancel(ctx)
	}
	later := p.plan.Refused && p.Role == Second // the person replies when the session is accepted
	if m == Held {
		if err := p.resume(ctx); err != nil || !later {
			return err
		}
		return p.reply(ctx, 1)
	}
	if m == Asked && first && p.plan.Hands {
		if err := p.passOn(ctx); err != nil {
			return err
		}
	}
	if m == Asked && !later {
		return p.reply(ctx, question)
	}
	if m == Ended {
		return p.afterwards(ctx)
	}
	return nil
}

func (p *person) cancel(ctx context.Context) error {
	err := p.insist(func() error { return p.lc.Cancel(ctx, p.id, "no longer needed") })
	if errors.Is(err, lifecycle.ErrTerminal) {
		return nil
	}
	return err
}

// resume decides about the run, if it is still held.
func (p *person) resume(ctx context.Context) error {
	err := p.insist(func() error {
		return p.lc.Resume(ctx, p.id, lifecycle.Resume{Choice: p.plan.Resume, Actor: lifecycle.Actor{ID: "olga"}})
	})
	if errors.Is(err, lifecycle.ErrNotHeld) || errors.Is(err, lifecycle.ErrTerminal) {
		return nil
	}
	return err
}

// reply answers the question as the plan says, if it does.
func (p *person) reply(ctx context.Context, question int) error {
	for _, r := range repliesTo(p.plan, question) {
		if err := p.send(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// send sends a reply, and repeats this while the answer is lost. The key makes it one reply.
func (p *person) send(ctx context.Context, r interaction.Reply) error {
	var receipt interaction.Receipt
	err := p.insist(func() (err error) {
		receipt, err = p.lc.Reply(ctx, p.id, r)
		return err
	})
	switch {
	case errors.Is(err, lifecycle.ErrSettled), errors.Is(err, lifecycle.ErrNotWaiting):
		return p.Journal.Add(Entry{Run: p.id, Key: r.Key, Refused: err.Error()})
	case err != nil:
		return err
	}
	return p.Journal.Add(Entry{Run: p.id, Key: r.Key, Receipt: &receipt})
}

// passOn lets ada claim and release the first question, and bob claim it; then the host reassigns
// it to bob (K5). Steps already done, by an earlier host or by a call whose answer was lost, are
// refused or repeated, with the same effect for people.
func (p *person) passOn(ctx context.Context) error {
	ada, bob := p.lc.As(lifecycle.Actor{ID: "ada"}), p.lc.As(lifecycle.Actor{ID: "bob"})
	until := p.Clock.Now().Add(time.Hour)
	for _, hand := range []struct {
		change, by string
		do         func() error
	}{
		{"claim", "ada", func() error { return ada.Claim(ctx, p.id, 1, until) }},
		{"release", "ada", func() error { return ada.Release(ctx, p.id, 1) }},
		{"claim", "bob", func() error { return bob.Claim(ctx, p.id, 1, until) }},
		{"reassign", "", func() error {
			return p.lc.Reassign(ctx, p.id, 1, nil, interaction.Audience{Users: []string{"bob"}})
		}},
	} {
		err := p.insist(hand.do)
		switch {
		case errors.Is(err, lifecycle.ErrClaimed), errors.Is(err, lifecycle.ErrNotAsked),
			errors.Is(err, lifecycle.ErrReassigned), errors.Is(err, lifecycle.ErrSettled):
			continue
		case err == nil:
			err = p.Journal.Add(Entry{Run: p.id, Hand: hand.change, By: hand.by})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// repliesTo returns the replies to the question: none, one, or the votes on it.
func repliesTo(p *Plan, question int) (all []interaction.Reply) {
	key := "answer-" + string(rune('0'+question))
	for _, voter := range p.Voters {
		all = append(all, interaction.Reply{ID: question, Decision: interaction.Approve, Key: key + "-" + voter,
			Actor: lifecycle.Actor{ID: voter}})
	}
	if text := p.Replies[question]; text != "" {
		actor := lifecycle.Actor{ID: "ada"}
		if p.Hands {
			actor.ID = "bob"
		}
		all = append(all, interaction.Reply{ID: question, Text: text, Key: key, Actor: actor})
	}
	return all
}

// rescued waits until the run is recovered, so that the person does not act in the middle of the
// recovery: the run has ended, or waits for its reply although the node that parked it is gone.
func (p *person) rescued(ctx context.Context) error {
	var err error
	if late := p.until(ctx, func() bool {
		var run store.Run
		if run, err = p.watch.Get(ctx, p.id); err != nil || run.State.Terminal() {
			return true
		}
		return p.plan.Replies != nil && (run.State != fsm.StateWaitingUser || run.Recovery == store.RecoveredWaiting)
	}); late != nil {
		return late
	}
	return err
}

// afterwards reads the final data, as people do, and deletes it if planned.
func (p *person) afterwards(ctx context.Context) error {
	if err := p.insist(func() error { _, err := p.lc.History(ctx, p.id); return err }); err != nil {
		return err
	}
	if err := p.insist(func() error {
		for _, err := range p.lc.Events(ctx, p.id, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	if !p.plan.Prune {
		return nil
	}
	return p.insist(func() error {
		_, err := p.lc.Prune(ctx, p.Clock.Now().Add(time.Hour))
		return err
	})
}
