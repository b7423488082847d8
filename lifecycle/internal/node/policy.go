package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// policies decides hidden approvals by the host's policy, and then by the run's remembered decisions:
// immediately after a turn of this node asks, and later if another node has not decided. If no node
// decides, people see the approvals at HiddenUntil.
type policies struct {
	*Process

	specs  Specs
	parked chan *store.Run // runs that turns of this node have just parked
	calls  atomic.Int64    // that have not returned
	mu     sync.Mutex
	busy   map[approval]bool // guarded by mu; being decided here
}

type approval struct {
	run      string
	question int
}

const (
	policyCalls   = 64   // at one time
	policyQueue   = 1024 // runs that wait for a call; findUndecided finds the others
	policyHanging = 1024 // calls that have not returned, including abandoned ones
)

func newPolicies(cfg *Config) *policies {
	p := &policies{Process: cfg.Process, specs: cfg.Specs, busy: make(map[approval]bool)}
	if p.decides() {
		p.parked = make(chan *store.Run, policyQueue)
	}
	return p
}

// decides reports whether this node decides approvals: by the host's policy or remembered decisions.
func (p *policies) decides() bool { return p.Policy != nil || p.Host.Recall > 0 }

// note lets the policy decide about the run's hidden approvals. It does not block.
func (p *policies) note(run *store.Run) {
	if p == nil || !p.decides() || !hasHidden(run) {
		return
	}
	select {
	case p.parked <- run:
	default:
	}
}

func hasHidden(run *store.Run) bool {
	for i := range run.Open {
		if run.Open[i].HiddenFor > 0 {
			return true
		}
	}
	return false
}

// serve decides until ctx ends. Calls of the policy that ignore their context are left behind.
func (p *policies) serve(ctx context.Context) error {
	if !p.decides() {
		return nil
	}
	var calls errgroup.Group
	calls.SetLimit(policyCalls)
	defer func() { _ = calls.Wait() }()
	interval := time.Second
	if p.Policy != nil {
		interval = min(p.Host.HideFor/5, interval)
	}
	next := MonotonicNow(p.Clock)
	for ctx.Err() == nil {
		tick, stop := p.Clock.Timer(next.Sub(MonotonicNow(p.Clock)))
		select {
		case run := <-p.parked:
			p.decideRun(ctx, &calls, run)
		case <-tick:
			p.findUndecided(ctx, &calls, interval)
			next = MonotonicNow(p.Clock).Add(interval)
		case <-ctx.Done():
		}
		stop()
	}
	return nil
}

// findUndecided finds the approvals that are still hidden after the interval: the node that asked
// them has died, or its policy is slow. It skips the runs that wait longer than any hiding time.
func (p *policies) findUndecided(ctx context.Context, calls *errgroup.Group, interval time.Duration) {
	now := p.Now()
	from := store.Cursor{At: now.Add(-max(p.Host.HideFor, decide.RecallTime) - interval)}
	q := store.WaitingQuery{Query: store.Query{Limit: store.MaxBatch, After: from.String()}}
	for {
		page, err := p.Store.Waiting(ctx, q)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
				p.Log.Error("approvals under the policy not read; trying again", "err", err)
			}
			return
		}
		for i := range page.Runs {
			if run := &page.Runs[i]; hasHidden(run) && !run.Open[0].AskedAt.After(now.Add(-interval)) {
				p.decideRun(ctx, calls, run)
			}
		}
		if q.After = page.Next; page.Next == "" {
			return
		}
	}
}

func (p *policies) decideRun(ctx context.Context, calls *errgroup.Group, run *store.Run) {
	for i := range run.Open {
		q := &run.Open[i]
		at := approval{run.ID, q.ID}
		if !q.Hidden(p.Now()) || !p.start(at) {
			continue
		}
		calls.Go(func() error {
			defer p.end(at)
			p.decide(ctx, run, q)
			return nil
		})
	}
}

func (p *policies) start(at approval) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy[at] {
		return false
	}
	p.busy[at] = true
	return true
}

func (p *policies) end(at approval) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, at)
}

// decide stores the policy's ruling about one question. A ruling that the contract does not allow
// leaves the question to people.
func (p *policies) decide(ctx context.Context, run *store.Run, q *interaction.Question) {
	said, ok := p.rulingOn(ctx, run, q)
	if !ok {
		return
	}
	again := false // the run has changed since the last read
	cmd := Command{Verb: "decide by policy", Run: run.ID, Question: q.ID}
	err := p.CarryOut(ctx, cmd, func() (*store.Commit, error) {
		if again {
			read, err := p.Store.Run(ctx, run.ID)
			if err != nil {
				return nil, cmd.Failed(err)
			}
			run = &read
			if said.counted { // another ruling may have changed the count
				q := run.OpenQuestion(q.ID)
				if q == nil || !q.Hidden(p.Now()) {
					return nil, decide.ErrNoPolicy
				}
				if said, ok = p.rulingOn(ctx, run, q); !ok {
					return nil, decide.ErrNoPolicy
				}
			}
		}
		again = true
		cm, err := p.carryOut(ctx, run, q.ID, &said)
		if err == nil || errors.Is(err, decide.ErrNoPolicy) {
			return cm, err
		}
		p.Log.Error("the policy's ruling cannot be carried out; people decide", "run", run.ID, "question", q.ID,
			"rule", said.ruling.Rule, "version", said.ruling.Version, "err", err)
		said = verdict{failed: true}
		return p.carryOut(ctx, run, q.ID, &said)
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, decide.ErrNoPolicy) && !errors.Is(err, store.ErrNotFound) {
		p.Log.Error("the policy's ruling is not stored", "run", run.ID, "question", q.ID, "err", err)
	}
}

// verdict is the result of a policy call. If the call failed, people decide.
type verdict struct {
	ruling  interaction.Ruling
	counted bool // the policy called Proposal.Rulings
	failed  bool
}

// carryOut decides the question by the ruling. After a zero Ruling, it uses a remembered decision.
func (p *policies) carryOut(ctx context.Context, run *store.Run, question int, said *verdict) (*store.Commit, error) {
	if p.Host.Recall > 0 && !said.failed && said.ruling == (interaction.Ruling{}) {
		if m := p.memoryFor(ctx, run, question); m > 0 {
			if cm, err := decide.Recall(run, question, m, p.Now()); !errors.Is(err, decide.ErrNotRemembered) {
				return cm, err
			}
		}
	}
	return decide.Ruling(run, question, said.ruling, p.Now())
}

// memoryFor returns the number of the oldest remembered decision for the question, or 0. The decision
// must cover the question, be within the host's limit, and be made by a current member of the directory.
func (p *policies) memoryFor(ctx context.Context, run *store.Run, question int) int {
	q := run.OpenQuestion(question)
	if q == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, q.HiddenUntil().Sub(p.Now()))
	defer cancel()
	for i := range run.Remembered {
		m := &run.Remembered[i]
		if now := p.Now(); !m.Covers(q, now) || !now.Before(m.At.Add(p.Host.Recall)) {
			continue
		}
		err := p.Member(ctx, m.Actor)
		if err == nil {
			return m.ID
		}
		p.Log.Warn("a remembered decision is not used", "run", run.ID, "question", question, "of", m.ID, "err", err)
	}
	return 0
}

// rulingOn calls the policy for the question. ok is false if the hiding time or the node ends before it
// returns.
func (p *policies) rulingOn(ctx context.Context, run *store.Run, q *interaction.Question) (_ verdict, ok bool) {
	if p.Policy == nil {
		return verdict{}, true
	}
	if p.calls.Add(1) > policyHanging {
		p.calls.Add(-1)
		p.Log.Error("too many calls of the policy hang; people decide", "run", run.ID, "question", q.ID,
			"hanging", policyHanging)
		return verdict{failed: true}, true
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		ruling  interaction.Ruling
		counted bool
		err     error
	}
	returned := make(chan result, 1)
	go func() {
		r := result{err: errors.New("the policy has exited its goroutine")}
		defer func() {
			p.calls.Add(-1)
			returned <- r
		}()
		r.ruling, r.counted, r.err = p.call(ctx, run, q)
	}()
	visible, stop := p.Clock.Timer(q.HiddenUntil().Sub(p.Clock.Now()))
	defer stop()
	select {
	case r := <-returned:
		if err := r.ruling.Validate(); err != nil && r.err == nil {
			r.err = fmt.Errorf("it has %w", err)
		}
		if r.err == nil {
			return verdict{ruling: r.ruling, counted: r.counted}, true
		}
		p.Log.Error("the policy has failed; people decide", "run", run.ID, "question", q.ID, "err", r.err)
		return verdict{failed: true}, ctx.Err() == nil
	case <-visible:
		p.Log.Error("the policy takes too long; people decide", "run", run.ID, "question", q.ID)
	case <-ctx.Done():
	}
	return verdict{}, false
}

// call calls the policy with a copy of the question, and turns a panic into an error.
func (p *policies) call(ctx context.Context, run *store.Run, q *interaction.Question) (_ interaction.Ruling,
	counted bool, err error) {
	proposal, err := NewProposal(ctx, p.Store, p.specs, run, q)
	if err != nil {
		return interaction.Ruling{}, false, err
	}
	var counts atomic.Bool // the policy may count on another goroutine
	count := proposal.Rulings
	proposal.Rulings = func(ctx context.Context, rule string) (int, error) {
		counts.Store(true)
		return count(ctx, rule)
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			p.Log.Error("the policy panicked", "run", run.ID, "panic", decide.Shortened(fmt.Sprint(panicked)), "stack",
				string(debug.Stack()))
			err = errors.New("it panicked")
		}
	}()
	ruling, err := p.Policy(ctx, proposal)
	return ruling, counts.Load(), err
}

// NewProposal returns a copy of the question with the data of its run.
func NewProposal(ctx context.Context, r store.Reader, specs Specs, run *store.Run, q *interaction.Question) (
	interaction.Proposal, error) {
	stored, err := r.Spec(ctx, run.ID)
	if err != nil {
		return interaction.Proposal{}, err
	}
	spec, _, err := specs.Decode(run.ID, stored)
	if err != nil {
		return interaction.Proposal{}, err
	}
	id, copied := run.ID, store.CloneRecord(interaction.Record{Question: *q})
	return interaction.Proposal{
		Question: copied.Question, RunID: id, Engine: run.Engine, Title: run.Title, Pool: run.Pool,
		Key: run.Key, Submitter: spec.Submitter, Labels: maps.Clone(run.Labels),
		Rulings: func(ctx context.Context, rule string) (int, error) { return countRulings(ctx, r, id, rule) },
	}, nil
}

func countRulings(ctx context.Context, r store.Reader, id, rule string) (n int, _ error) {
	err := store.EachSettled(ctx, r, id, func(_ *store.Run, page []interaction.Record) error {
		for i := range page {
			if name, _ := interaction.RuleOf(page[i].Actor); name == rule && name != "" {
				n++
			}
		}
		return nil
	})
	return n, err
}
