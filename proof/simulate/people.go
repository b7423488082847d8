package simulate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// person makes calls about one run, through a separate client.
type person struct {
	*lifecycle.Client
	world   *world
	view    *view
	run     *runPlan
	passive bool // only reads, and so need not stay for a run that waits without limit
	stays   bool // until the world ends
	gone    bool // guarded by world.mu

	// The results of the person's calls, for the verdict.
	accepted []acceptedReply
	// votedBefore are the replies that were refused since their author had voted.
	votedBefore []interaction.Reply

	canceled         bool            // their cancel ended the run
	seen             []fcmp.Event    // the events that a follower got
	final            *store.Run      // the run that Wait returned
	refused          map[string]bool // the keys of replies that were refused for good
	maybe            map[string]bool // the texts of replies without a key whose outcome they never learned
	decided          map[string]*decisions
	extended         extensions
	claimed          []claimOf
	handed           hands
	created          bool         // their fork
	forgotten, ended map[int]bool // the remembered decisions that they ended, and that had ended before
	notAsked         map[int]bool // the questions that were put to others when they replied
}

// acceptedReply is a reply that the library reported as accepted.
type acceptedReply struct {
	reply    interaction.Reply
	replayed bool
}

// populate adds hosts and people to the world.
func (w *world) populate() {
	for i, skew := range w.plan.skews {
		h := &host{world: w, name: hostName(i), index: i, skew: skew}
		h.idle = w.newView(h.name+"-idle", 0)
		w.hosts = append(w.hosts, h)
		go h.live()
	}
	for _, run := range w.plan.runs {
		submitter := w.person(run, run.spec.ID+".submitter")
		w.send(submitter, func() { submitter.submits(w.ctx) })
	}
	if w.plan.recovers > 0 {
		administrator := w.person(w.plan.runs[0], "administrator")
		w.send(administrator, func() { administrator.recovers(w.ctx) })
	}
	if w.plan.rules.clerk {
		clerk := w.person(w.plan.runs[0], "clerk")
		w.send(clerk, func() { clerk.clerks(w.ctx) })
	}
	w.operator = w.person(nil, "operator")
	w.operator.stays, w.operator.decided = true, make(map[string]*decisions)
	w.send(w.operator, func() { w.operator.operates(w.ctx) })
}

func (w *world) person(run *runPlan, name string) *person {
	v := w.newView(name, 0)
	v.only = "-" // only followers need hints
	cfg := lifecycle.ClientConfig{Store: v, Clock: clock{v}, Poll: w.plan.poll, Remember: w.plan.memory.lasts}
	if w.plan.directory != nil {
		cfg.Directory = w.directory
	}
	c, err := lifecycle.NewClient(cfg)
	if err != nil {
		panic(err)
	}
	return &person{Client: c, world: w, view: v, run: run, refused: make(map[string]bool), maybe: make(map[string]bool),
		forgotten: make(map[int]bool), ended: make(map[int]bool),
		notAsked: make(map[int]bool), handed: hands{stored: make(map[string]int), refused: make(map[int]bool)}}
}

// send starts a person's life. It is called while the world is quiescent, or by a person whose own
// life is not over.
func (w *world) send(p *person, life func()) {
	w.mu.Lock()
	w.people = append(w.people, p)
	w.mu.Unlock()
	go func() {
		life()
		p.Close()
		w.leaveView(p.view)
		w.mu.Lock()
		defer w.mu.Unlock()
		p.gone = true
	}()
}

// pause waits for the duration; it returns false when the world ends.
func (p *person) pause(d time.Duration) bool { return p.view.rest(p.world.ending, d) }

// unclear reports whether an error leaves the outcome unknown, so that the call must be made again.
func unclear(err error) bool { return errors.Is(err, errOutage) || errors.Is(err, errCrashed) }

// submits tries to submit the run until it succeeds, and then sends the other people of the run.
func (p *person) submits(ctx context.Context) {
	for again := p.run.submitAt; p.pause(again); again = time.Second {
		_, err := p.Submit(ctx, p.run.spec)
		if err == nil {
			break
		}
		if errors.Is(err, lifecycle.ErrUnknownPool) { // no host has created the pool yet
			continue
		}
		if !unclear(err) {
			p.world.fault(fmt.Sprintf("%s cannot submit: %v", p.view.name, err))
			return
		}
	}
	w := p.world
	for _, r := range p.run.repliers {
		q := w.person(p.run, r.name)
		w.send(q, func() { q.replies(ctx, r) })
	}
	for i, x := range p.run.extenders {
		q := w.person(p.run, fmt.Sprintf("%s.extender%d", p.run.spec.ID, i+1))
		w.send(q, func() { q.extends(ctx, x) })
	}
	for i, a := range p.run.assigners {
		q := w.person(p.run, fmt.Sprintf("%s.assigner%d", p.run.spec.ID, i+1))
		w.send(q, func() { q.assigns(ctx, a) })
	}
	if f := p.run.forgetter; f != nil {
		q := w.person(p.run, p.run.spec.ID+".forgetter")
		w.send(q, func() { q.forgets(ctx, f) })
	}
	if f := p.run.fork; f != nil {
		q := w.person(p.run, p.run.spec.ID+".forker")
		q.view.writes = f.id
		w.send(q, func() { q.forks(ctx, f) })
	}
	for _, f := range p.run.followers {
		q := w.person(p.run, f.name)
		q.passive, q.view.only = true, p.run.spec.ID
		w.send(q, func() { q.follows(f) })
	}
	if p.run.cancelAt > 0 {
		q := w.person(p.run, p.run.spec.ID+".canceler")
		w.send(q, func() { q.cancels(ctx) })
	}
	if p.run.waits {
		q := w.person(p.run, p.run.spec.ID+".waiter")
		q.passive, q.view.only = true, p.run.spec.ID
		w.send(q, q.awaits)
	}
}

// replies answers questions until the run has ended or the person's patience is over.
func (p *person) replies(ctx context.Context, plan *replierPlan) {
	r, choose := rand.New(rand.NewPCG(plan.seed, 0)), rand.New(rand.NewPCG(plan.seed, 1))
	noting := rand.New(rand.NewPCG(plan.seed, 3))
	claiming := rand.New(rand.NewPCG(plan.claims.seed, 0))
	for range plan.patience {
		if !p.pause(time.Duration(1 + r.Int64N(int64(plan.thinks)))) {
			return
		}
		run, err := p.Get(ctx, p.run.spec.ID)
		switch {
		case err != nil:
			continue
		case run.State.Terminal():
			if plan.clumsy && run.Interactions > 0 {
				p.reply(ctx, plan, run.Interactions, "too late")
			}
			return
		case run.State != fsm.StateWaitingUser:
			continue
		}
		open := run.Open
		asked := open[choose.IntN(len(open))].ID
		if plan.clumsy {
			switch r.IntN(4) {
			case 0:
				p.reply(ctx, plan, run.Interactions+1, "nobody asked")
			case 1:
				p.reply(ctx, plan, open[0].ID-1, "again")
			}
		}
		if noting.IntN(20) == 0 {
			p.notes(ctx, plan, asked)
		}
		if !p.claims(ctx, plan, claiming, asked) {
			continue
		}
		text := fmt.Sprintf("%s says yes to %d", plan.name, asked)
		ok := p.reply(ctx, plan, asked, text)
		if ok && plan.clumsy && plan.keyed && r.IntN(2) == 0 {
			p.reply(ctx, plan, asked, "something else") // another text under the same key
		}
		if ok && plan.keyed && r.IntN(3) == 0 {
			p.reply(ctx, plan, asked, text)
		}
	}
}

// notes writes a note on the question, which decides nothing (N7).
func (p *person) notes(ctx context.Context, plan *replierPlan, id int) {
	mine := p.As(lifecycle.Actor{ID: plan.name, Groups: plan.groups})
	_, err := mine.Note(ctx, p.run.spec.ID, id, interaction.Note{Text: "wait"})
	switch {
	case err == nil, unclear(err), errors.Is(err, lifecycle.ErrNotAsked), errors.Is(err, lifecycle.ErrSettled),
		errors.Is(err, lifecycle.ErrNotWaiting):
	default:
		p.world.fault(fmt.Sprintf("%s notes on %d: %v", p.view.name, id, err))
	}
}

// reply replies to an interaction until the outcome is known, and reports whether the reply was
// accepted, now or by an earlier try. A reply without a key is not tried again.
func (p *person) reply(ctx context.Context, plan *replierPlan, id int, text string) bool {
	w := p.world
	reply := interaction.Reply{ID: id, Text: text, Actor: lifecycle.Actor{ID: plan.name, Groups: plan.groups}}
	reply.Actor.For = w.plan.directory.stands(plan, id)
	if plan.keyed {
		reply.Key = fmt.Sprintf("%s to %d", plan.name, id)
	}
	if id < 1 {
		return false
	}
	if p.run.approval(id) {
		plan.decide(&reply, p.run.need(id))
	}
	for tried := false; ; tried = true {
		if p.run.approval(id) && !p.run.need(id).several() {
			w.plan.memory.extend(&reply, plan.seed, clock{p.view}.Now())
		}
		began := clock{p.view}.Now()
		receipt, err := p.Reply(ctx, p.run.spec.ID, reply)
		var settled *lifecycle.SettledError
		var wrong *interaction.FieldError
		switch {
		case err == nil:
			reply.Remember = nil
			if receipt.Replayed {
				w.saw("a reply was acknowledged again")
				if tried {
					w.saw("a reply whose acknowledgement was lost turned out to be accepted")
				}
			}
			p.accepted = append(p.accepted, acceptedReply{reply, receipt.Replayed})
			return true
		case errors.As(err, &settled):
			w.saw("a reply came second to " + string(settled.Resolution))
			p.refused[reply.Key] = true
			return false
		case errors.Is(err, lifecycle.ErrKeyConflict):
			w.saw("a key was used for another reply")
			return false
		case errors.Is(err, lifecycle.ErrNotDeputy):
			w.refusedAsDeputy(reply.Actor, began, clock{p.view}.Now())
			return false
		case errors.Is(err, lifecycle.ErrNotAsked):
			w.saw("a reply was refused since others are asked")
			if reply.Actor.For == "" && plan.name != p.run.spec.Submitter {
				p.notAsked[id] = true
			} else if plan.name == p.run.spec.Submitter {
				w.saw("a submitter was refused")
			}
			return false
		case errors.As(err, &wrong) && wrong.Field == "Actor.For":
			w.saw("a deputy's vote would leave too few people")
			return false
		case errors.Is(err, lifecycle.ErrVoted):
			w.saw("somebody who had voted tried again")
			p.votedBefore = append(p.votedBefore, reply)
			return false
		case errors.Is(err, lifecycle.ErrClaimed):
			w.saw("a reply was refused since somebody else had claimed the question")
			return false
		case errors.Is(err, lifecycle.ErrNotWaiting):
			w.saw("a reply to what was not asked was refused")
			return false
		case errors.As(err, &wrong) && wrong.Field == "Remember.Until":
			w.saw("a decision was over before it was remembered")
			return false
		case !unclear(err):
			w.fault(fmt.Sprintf("%s replies to %d: %v", p.view.name, id, err))
			return false
		case !plan.keyed:
			p.maybe[text] = true
			return false
		}
		if !p.pause(time.Second) {
			return false
		}
	}
}

// cancels withdraws the run by a cancel.
func (p *person) cancels(ctx context.Context) {
	tried := false
	for d := p.run.cancelAt; p.pause(d); d = time.Second {
		err := p.Cancel(ctx, p.run.spec.ID, "no longer wanted")
		switch {
		case err == nil:
			p.canceled = true
			return
		case errors.Is(err, lifecycle.ErrTerminal):
			if tried {
				p.world.saw("a cancel was tried again and found the run ended")
			}
			return
		case !unclear(err):
			p.world.fault(fmt.Sprintf("%s cancels: %v", p.view.name, err))
			return
		}
		tried = true
	}
}

// recovers starts a recovery twice in a row (E6).
func (p *person) recovers(ctx context.Context) {
	for range 2 {
		if !p.pause(p.world.plan.recovers) {
			return
		}
		done, err := p.Recover(ctx)
		if err == nil && done != (lifecycle.Recovery{}) {
			p.world.saw("an operator's recovery settled what the dead had left")
		}
		if err != nil && !unclear(err) {
			p.world.fault("the operator recovers: " + err.Error())
		}
	}
}

// until returns a context that ends when the world does.
func (p *person) until() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(p.world.ctx)
	go func() {
		select {
		case <-p.world.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// follows reads the run's events. It connects again after errors, and as often as the plan says.
func (p *person) follows(plan followerPlan) {
	ctx, cancel := p.until()
	defer cancel()
	last := uint64(0)
	for ctx.Err() == nil {
		here := 0
		for e, err := range p.Events(ctx, p.run.spec.ID, last) {
			if err != nil {
				break
			}
			p.seen = append(p.seen, e)
			if last = e.Seq; e.Terminal() {
				return
			}
			if here++; here == plan.breaks {
				p.world.saw("a follower connected anew")
				break
			}
		}
		if !p.pause(100 * time.Millisecond) {
			return
		}
	}
}

// awaits waits for the run's end.
func (p *person) awaits() {
	ctx, cancel := p.until()
	defer cancel()
	for {
		run, err := p.Wait(ctx, p.run.spec.ID)
		if err == nil {
			p.final = &run
			return
		}
		if !p.pause(time.Second) {
			return
		}
	}
}
