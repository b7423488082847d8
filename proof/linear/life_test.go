package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/store"
)

// flaky is a client's store that sometimes hides the outcome of a write.
type flaky struct {
	store.Store

	fault func() linear.Fault
}

func (f *flaky) Commit(ctx context.Context, batch []store.Commit) []error {
	fault := f.fault()
	errs := make([]error, len(batch))
	if fault != linear.Dropped {
		errs = f.Store.Commit(ctx, batch)
	}
	for i := range errs {
		if fault != linear.None {
			errs[i] = linear.ErrInjected
		}
	}
	return errs
}

// draw returns a random specification, and its terms.
func draw(rng *rand.Rand, id string) (lifecycle.Spec, linear.Terms) {
	spec := lifecycle.Spec{
		ID: id, Prompt: "Do the job.", SessionTimeout: time.Duration(1+rng.IntN(4)) * time.Second,
		AutoDecide:       rng.IntN(2) == 0,
		MaxAutoDecisions: 1 + rng.IntN(2), MaxAttempts: rng.IntN(6), Repeatable: rng.IntN(2) == 0, MaxRepeats: 1000,
		Engine: string(fsm.ProfileResumable),
	}
	if rng.IntN(3) == 0 {
		spec.Engine = string(fsm.ProfileStickyProcess)
	}
	if rng.IntN(3) == 0 {
		spec.OutputSchema = answerSchema
	}
	if rng.IntN(10) == 0 {
		spec.Mode = lifecycle.Auto
	}
	if rng.IntN(2) == 0 {
		spec.Hold, spec.Repeatable, spec.OnInterrupt = lifecycle.HoldOn, false, lifecycle.Ask
	}
	if rng.IntN(4) == 0 {
		spec.Submitter, spec.Ask = "bob", &lifecycle.AskPolicy{NotSubmitter: true}
	}
	spec.Budget = drawBudget(rng)
	return spec, linear.Terms{
		Budget:   spec.Budget,
		Excepted: spec.Submitter,
		Digest:   spec.Prompt, Interactive: spec.Mode != lifecycle.Auto, Strict: !spec.AutoDecide,
		Repeatable: spec.Repeatable, Hold: spec.Hold == lifecycle.HoldOn, Ask: spec.OnInterrupt == lifecycle.Ask,
		MaxAttempts: spec.MaxAttempts, MaxAutoDecisions: spec.MaxAutoDecisions, SessionTimeout: spec.SessionTimeout,
	}
}

// drawBudget gives every other run a budget. Half of these are so small that some runs use them up.
func drawBudget(rng *rand.Rand) lifecycle.Budget {
	return []lifecycle.Budget{{}, {Tokens: 1 << 40}, {Tokens: 1 + rng.Int64N(1500)}, {Turns: 1 + rng.IntN(3)},
		{Turns: 2, Tokens: 1 + rng.Int64N(2000)}, {}, {}, {}}[rng.IntN(8)]
}

// person makes calls about one run, and remembers the run's last state that they saw.
type person struct {
	*world

	i     int
	rng   *rand.Rand
	spec  lifecycle.Spec
	terms linear.Terms
	last  lifecycle.Run
	over  int // how often they read the run since it ended
	forks *forks
}

// forks are the forks that were made of one run.
type forks struct {
	mu     sync.Mutex
	ids    map[string]*linear.Forking // guarded by mu
	ofFork bool                       // the run was forked itself
}

func newForks(ofFork bool) *forks {
	return &forks{ids: make(map[string]*linear.Forking), ofFork: ofFork}
}

// rare says how seldom a person forks a run that has ended: once in so many times. Forks are forked
// more often, because few of them get to a question before they end.
func (f *forks) rare() int {
	if f.ofFork {
		return 2
	}
	return 6
}

func (f *forks) add(how *linear.Forking) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids[how.ID] = how
}

// life plays one run from its submission to its end, and then its forks: several people make calls
// about each run at the same time. A run that does not end by itself is canceled.
func (w *world) life(ctx context.Context, id string) {
	rng := dice(w.seed, id)
	spec, terms := draw(rng, id)
	pace := []int{100, 300, 1200}[rng.IntN(3)] // some people are so slow that the deadline fires first
	if w.rules {
		spec.SessionTimeout, spec.MaxAttempts, spec.Budget = 8*spec.SessionTimeout, 0, lifecycle.Budget{}
		terms.SessionTimeout, terms.MaxAttempts, terms.Budget = spec.SessionTimeout, 0, spec.Budget
		terms.Hides = hides
		w.lives(ctx, spec, terms, 40, 3*pace, nil)
		return
	}
	forked := newForks(false)
	w.lives(ctx, spec, terms, 24, pace, forked)
	w.forksLive(ctx, spec, terms, forked)
}

// forksLive plays the forks of a run, and then the forks of these.
func (w *world) forksLive(ctx context.Context, spec lifecycle.Spec, terms linear.Terms, made *forks) {
	for _, fork := range made.ids {
		spec.ID = fork.ID
		again := newForks(true)
		w.lives(ctx, spec, terms, 8, 100, again)
		for _, last := range again.ids {
			spec.ID = last.ID
			w.lives(ctx, spec, terms, 8, 100, nil)
		}
	}
}

// lives has each person make calls about the run until it has ended: at most so many, with pauses
// of up to pace milliseconds. A run that has not ended by then is canceled.
func (w *world) lives(ctx context.Context, spec lifecycle.Spec, terms linear.Terms, calls, pace int, forked *forks) {
	var all sync.WaitGroup
	for i := range w.clients {
		all.Go(func() {
			p := &person{world: w, i: i, rng: dice(w.seed, fmt.Sprint(spec.ID, " ", i)), spec: spec, terms: terms,
				forks: forked}
			for range calls {
				if p.acts(ctx); p.last.State.Terminal() {
					if p.over++; p.over > 2 {
						return
					}
					if p.over == 1 && forked != nil && p.rng.IntN(forked.rare()) == 0 {
						p.fork(ctx)
					}
				}
				w.clock.ponder(ctx, time.Duration(p.rng.IntN(pace))*time.Millisecond)
			}
		})
	}
	all.Wait()
	p := &person{world: w, spec: spec}
	for p.get(ctx); !p.last.State.Terminal() && p.last.ID != ""; p.get(ctx) {
		p.cancel(ctx)
	}
	p.usage(ctx)
	if forked != nil {
		p.findForks(ctx)
	}
}

func (p *person) client() *lifecycle.Client { return p.clients[p.i] }

func (p *person) ask(in linear.Input, do func() linear.Output) {
	in.Run = p.spec.ID
	if in.Reply.Actor.For != "" {
		p.askAsDeputy(in, do)
		return
	}
	call := p.log.Call(p.i, in)
	call.Return(do())
}

// acts makes one call, or a few that belong together.
func (p *person) acts(ctx context.Context) {
	if p.last.ID == "" {
		p.submit(ctx, p.rng.IntN(8) == 0)
		p.get(ctx)
		return
	}
	switch n := p.rng.IntN(60); {
	case n == 0:
		p.submit(ctx, p.rng.IntN(3) == 0)
	case n == 1:
		p.cancel(ctx)
	case n < 5:
		p.reply(ctx, p.last.Interactions+1)
	case n < 8:
		p.usage(ctx)
	case n < 12 && p.forks != nil && p.last.Interactions > 0:
		p.fork(ctx)
		p.findForks(ctx)
	case n < 18 && p.last.Interactions > 0:
		p.reply(ctx, 1+p.rng.IntN(p.last.Interactions))
	default:
		p.get(ctx)
		if p.last.State == fsm.StateWaitingUser {
			switch open := p.last.Open; p.rng.IntN(8) {
			case 0:
				p.extend(ctx)
			case 1:
				p.reassign(ctx)
			default:
				p.reply(ctx, open[p.rng.IntN(len(open))].ID)
			}
		}
		if open := p.last.Open; len(open) > 0 && p.rng.IntN(p.reserve()) == 0 {
			p.claimQuestion(ctx, open[p.rng.IntN(len(open))].ID)
		} else if p.last.Interactions > 0 && p.rng.IntN(8) == 0 {
			p.claimQuestion(ctx, max(1, p.last.Interactions-p.rng.IntN(3)))
		}
		if p.last.Held() || p.rng.IntN(8) == 0 {
			p.resume(ctx)
		}
		if p.rules && p.last.Interactions > 0 && p.rng.IntN(6) == 0 {
			p.note(ctx)
		}
		if p.rules && p.rng.IntN(16) == 0 {
			p.forget(ctx)
		}
	}
}

// reserve says how seldom a person claims an open question: once in so many times. With rules, claims
// are rarer, because they end the policy's part.
func (p *person) reserve() int {
	if p.rules {
		return 16
	}
	return 4
}

func (p *person) submit(ctx context.Context, other bool) {
	spec, terms := p.spec, p.terms
	if other && p.last.ID != "" {
		spec.Prompt += " Twice."
		terms.Digest = spec.Prompt
	}
	p.ask(linear.Input{Kind: linear.Submit, Terms: terms}, func() linear.Output {
		r, err := p.client().Submit(ctx, spec)
		return seen(r, err)
	})
}

func (p *person) get(ctx context.Context) {
	p.ask(linear.Input{Kind: linear.Get}, func() linear.Output {
		r, err := p.client().Get(ctx, p.spec.ID)
		if err == nil {
			p.last = r
		}
		return seen(r, err)
	})
}

// fork makes either fork of the run, which may exist already. A person who does not learn the
// outcome retries.
func (p *person) fork(ctx context.Context) {
	f := &linear.Forking{ID: fmt.Sprint(p.spec.ID, "-f", p.rng.IntN(2)), Question: p.rng.IntN(3), Terms: p.terms}
	if p.rng.IntN(3) == 0 {
		f.Reply, f.Actor = "Otherwise.", "bob"
	}
	at := lifecycle.At{ID: f.ID, Question: f.Question, Actor: linear.Person(f.Actor),
		Answer: lifecycle.Reply{Text: f.Reply}}
	for unknown := true; unknown; {
		p.ask(linear.Input{Kind: linear.Fork, Fork: f}, func() linear.Output {
			r, err := p.client().Fork(ctx, p.spec.ID, at)
			out := seen(r, err)
			if err == nil {
				p.learn(ctx, f)
				out.Inherited, out.Begins = f.Inherited, f.Begins
				p.forks.add(f)
			}
			unknown = out.Unknown && ctx.Err() == nil
			return out
		})
	}
}

// learn reads the fork's inheritance and beginning.
func (p *person) learn(ctx context.Context, f *linear.Forking) {
	records, err := p.client().Inherited(ctx, f.ID)
	if err != nil {
		p.Errorf("inherited by %s: %v", f.ID, err)
	}
	body, err := p.expirer.Spec(ctx, f.ID)
	if err != nil {
		p.Errorf("stored form of %s: %v", f.ID, err)
	}
	if f.Begins, err = linear.TextOfBeginning(body); err != nil {
		p.Errorf("beginning of %s: %v", f.ID, err)
	}
	f.Inherited, f.Learned = linear.TextOfRecords(records), true
}

// findForks finds the forks of the run.
func (p *person) findForks(ctx context.Context) {
	p.ask(linear.Input{Kind: linear.FindForks}, func() linear.Output {
		page, err := p.client().Runs(ctx, lifecycle.Query{ForkedFrom: p.spec.ID})
		out := linear.Answer(err)
		ids := make([]string, 0, len(page.Runs))
		for _, r := range page.Runs {
			ids = append(ids, r.ID)
		}
		slices.Sort(ids)
		for _, id := range ids {
			out.Forks += id + " "
		}
		return out
	})
}

// usage reads the run's usage.
func (p *person) usage(ctx context.Context) {
	p.ask(linear.Input{Kind: linear.ReadUsage}, func() linear.Output {
		u, err := p.client().Usage(ctx, p.spec.ID)
		out := linear.Answer(err)
		if err == nil {
			out.Used = linear.TextOfTurns(u.Turns, u.Total)
		}
		return out
	})
}

func seen(r lifecycle.Run, err error) linear.Output {
	out := linear.Answer(err)
	if err == nil {
		out.Seen = linear.ViewOf(&r)
	}
	return out
}

// reply answers an interaction. A person who does not learn the outcome tries again if the reply
// has a key.
func (p *person) reply(ctx context.Context, id int) {
	r := interaction.Reply{ID: id, Text: []string{"yes", "no"}[p.rng.IntN(2)], Key: []string{"", "k1", "k2",
		fmt.Sprint("k", p.i, id)}[p.rng.IntN(4)], Actor: p.actor()}
	if q := p.last.OpenQuestion(id); q != nil && q.Subject != nil != (p.rng.IntN(20) == 0) || p.rng.IntN(20) == 0 {
		r.Decision = []interaction.Decision{interaction.Approve, interaction.Approve, interaction.Reject}[p.rng.IntN(3)]
	}
	p.remember(&r)
	for unknown := true; unknown; {
		p.ask(linear.Input{Kind: linear.Reply, Reply: r}, func() linear.Output {
			receipt, err := p.client().Reply(ctx, p.spec.ID, r)
			out := linear.Answer(err)
			out.Replayed = receipt.Replayed
			unknown = out.Unknown && r.Key != "" && ctx.Err() == nil
			return out
		})
	}
}

// extend moves the end of an open question that the person has seen. If a time after that end is
// refused, the clock has passed it. The history has no clock, so the outcome is recorded as
// unknown.
func (p *person) extend(ctx context.Context) {
	open := p.last.Open
	q := open[p.rng.IntN(len(open))]
	if q.Wait == nil {
		return
	}
	until := q.EndsAt
	if until.IsZero() {
		until = q.AskedAt
	}
	until = until.Add(time.Duration(p.rng.IntN(4)) * time.Second).UTC().Truncate(time.Microsecond)
	in := linear.Input{Kind: linear.Extend, Until: linear.Until{Question: q.ID, At: until.UnixMicro()}}
	p.ask(in, func() linear.Output {
		err := p.client().Extend(ctx, p.spec.ID, q.ID, until)
		var wrong *lifecycle.ArgumentError
		switch {
		case !errors.As(err, &wrong):
			return linear.Answer(err)
		case wrong.Argument == "until" && !q.EndsAt.IsZero() && until.After(q.EndsAt):
			return linear.Output{Unknown: true}
		}
		return linear.Output{Err: linear.NotLater}
	})
}

// actor is the actor of the person's next call: usually themselves, sometimes another person, who
// then acts in two places at once, and with rules sometimes a deputy.
func (p *person) actor() lifecycle.Actor {
	i := p.i
	if p.rng.IntN(4) == 0 {
		i = p.rng.IntN(people)
	}
	a := linear.Person([]string{linear.Boss, "ada", "bob"}[i])
	if p.rules && p.rng.IntN(3) == 0 {
		a.For = absent[a.ID]
	}
	return a
}

// reassign reassigns an open question, if it still has the audience that the person saw last.
// Sometimes the host does so itself.
func (p *person) reassign(ctx context.Context) {
	open := p.last.Open
	q, by, to := open[p.rng.IntN(len(open))], p.actor(), drawAudience(p.rng)
	if p.rng.IntN(4) == 0 {
		by = linear.Person("")
	}
	if to == nil {
		to = &interaction.Audience{Everybody: true}
	}
	in := linear.Input{Kind: linear.Reassign, Reply: interaction.Reply{ID: q.ID, Actor: by},
		From: linear.TextOfAudience(q.To), To: linear.TextOfAudience(to)}
	p.ask(in, func() linear.Output {
		return linear.Answer(p.client().As(by).Reassign(ctx, p.spec.ID, q.ID, q.To, *to))
	})
}

// claimQuestion claims a question until long after the history, or gives it back.
func (p *person) claimQuestion(ctx context.Context, id int) {
	kind := []linear.Kind{linear.ClaimQuestion, linear.ClaimQuestion, linear.ReleaseQuestion}[p.rng.IntN(3)]
	by := p.actor()
	in := linear.Input{Kind: kind, Reply: interaction.Reply{ID: id, Actor: by}}
	p.ask(in, func() linear.Output {
		c := p.client().As(by)
		if kind == linear.ReleaseQuestion {
			return linear.Answer(c.Release(ctx, p.spec.ID, id))
		}
		return linear.Answer(c.Claim(ctx, p.spec.ID, id, p.clock.Now().Add(interaction.MaxClaim-24*time.Hour)))
	})
}

// resume makes an operator's decision about the run, whether it is held or not: for the version
// that the person saw last, for any version (0), or for an older one. If the budget is used up,
// most of them raise it, sometimes by too little; the others repeat the turn or end the run.
func (p *person) resume(ctx context.Context) {
	r := lifecycle.Resume{Choice: lifecycle.ChoiceRepeat, Version: p.last.Version}
	spent := p.last.Held() && p.last.Block.Code == fsm.CodeBudgetExhausted
	if b := p.last.Budget; b != nil && spent != (p.rng.IntN(8) == 0) {
		r.Choice = lifecycle.ChoiceRaise
		if b.Limit.Turns > 0 {
			r.Budget.Turns = b.Used.Turns + p.rng.IntN(4)
		}
		if b.Limit.Tokens > 0 {
			r.Budget.Tokens = b.Used.Tokens + p.rng.Int64N(1000)
		}
	}
	if p.rng.IntN(5) == 0 {
		r.Choice, r.Budget = lifecycle.ChoiceEnd, lifecycle.Budget{}
	}
	switch p.rng.IntN(4) {
	case 0:
		r.Version = 0
	case 1:
		r.Version = max(1, r.Version-1)
	}
	p.ask(linear.Input{Kind: linear.Resume, Resume: r}, func() linear.Output {
		return linear.Answer(p.client().Resume(ctx, p.spec.ID, r))
	})
}

func (p *person) cancel(ctx context.Context) {
	p.ask(linear.Input{Kind: linear.Cancel}, func() linear.Output {
		return linear.Answer(p.client().Cancel(ctx, p.spec.ID, "no longer needed"))
	})
}
