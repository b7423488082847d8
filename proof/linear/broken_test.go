package linear_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/linear"
	"github.com/interlude-go/interlude/store"
)

// broken is a store with one bug.
type broken struct {
	store.Store

	commit  func(ctx context.Context, below store.Store, c store.Commit) error
	claim   func(ctx context.Context, below store.Store, req store.ClaimRequest) ([]store.Claimed, error)
	run     func(r store.Run) store.Run
	due     func(ctx context.Context, below store.Store, now time.Time, limit int) ([]store.Run, time.Time, error)
	orphans func(ctx context.Context, below store.Store) ([]store.Run, error)
	runs    func(q store.Query, page store.Page) store.Page
	history func(records []interaction.Record) []interaction.Record
	past    func(records []interaction.Record) []interaction.Record // of reads without Confirm
	spec    func(body []byte) []byte
	usage   func(run string, turns []store.TurnUsage) []store.TurnUsage
	settled error
	// directory, unless nil, replaces the directory of the world's clients.
	directory lifecycle.Directory
	record    func(r interaction.Record) interaction.Record
}

func (b *broken) Commit(ctx context.Context, batch []store.Commit) []error {
	if b.commit == nil {
		return b.Store.Commit(ctx, batch)
	}
	errs := make([]error, len(batch))
	for i, c := range batch {
		errs[i] = b.commit(ctx, b.Store, c)
	}
	return errs
}

func (b *broken) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	if b.claim == nil {
		return b.Store.Claim(ctx, req)
	}
	return b.claim(ctx, b.Store, req)
}

func (b *broken) Run(ctx context.Context, id string) (store.Run, error) {
	r, err := b.Store.Run(ctx, id)
	if b.run != nil && err == nil {
		r = b.run(r)
	}
	return r, err
}

func (b *broken) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	if b.due == nil {
		return b.Store.Due(ctx, now, limit)
	}
	return b.due(ctx, b.Store, now, limit)
}

func (b *broken) Orphans(ctx context.Context, skip, limit int) ([]store.Run, error) {
	if b.orphans == nil || skip > 0 {
		return b.Store.Orphans(ctx, skip, limit)
	}
	return b.orphans(ctx, b.Store)
}

func (b *broken) Usage(ctx context.Context, id string) ([]store.TurnUsage, error) {
	turns, err := b.Store.Usage(ctx, id)
	if b.usage != nil && err == nil {
		turns = b.usage(id, turns)
	}
	return turns, err
}

func (b *broken) Runs(ctx context.Context, q store.Query) (store.Page, error) {
	page, err := b.Store.Runs(ctx, q)
	if b.runs != nil && err == nil {
		page = b.runs(q, page)
	}
	return page, err
}

func (b *broken) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	r, records, err := b.Store.History(ctx, id, q)
	if b.past != nil && err == nil {
		records = b.past(records)
	}
	return r, records, err
}

// Confirm implements store.Store: its reads are broken in the same way.
func (b *broken) Confirm(ctx context.Context, read func(store.Reader) error) error {
	return b.Store.Confirm(ctx, func(r store.Reader) error {
		if b.history != nil {
			r = &brokenHistory{r, b.history}
		}
		if b.spec != nil {
			r = &brokenSpecs{r, b.spec}
		}
		if b.record != nil {
			r = &brokenRecords{r, b.record}
		}
		return read(r)
	})
}

// brokenHistory is a reader whose histories are changed.
type brokenHistory struct {
	store.Reader

	history func(records []interaction.Record) []interaction.Record
}

func (b *brokenHistory) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record,
	error) {
	r, records, err := b.Reader.History(ctx, id, q)
	return r, b.history(records), err
}

func (b *brokenHistory) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	r, err := b.Reader.Interaction(ctx, id, number)
	if err != nil {
		return r, err
	}
	for _, r := range b.history([]interaction.Record{r}) {
		return r, nil
	}
	return r, store.ErrNotFound
}

// brokenSpecs is a reader whose specifications are changed.
type brokenSpecs struct {
	store.Reader

	spec func(body []byte) []byte
}

func (b *brokenSpecs) Spec(ctx context.Context, id string) ([]byte, error) {
	body, err := b.Reader.Spec(ctx, id)
	return b.spec(body), err
}

// brokenRecords is a reader whose settled questions, looked up by their keys, are changed.
type brokenRecords struct {
	store.Reader

	record func(r interaction.Record) interaction.Record
}

func (b *brokenRecords) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	r, err := b.Reader.Settled(ctx, id, key)
	return b.record(r), err
}

func (b *broken) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	if b.settled != nil {
		return interaction.Record{}, b.settled
	}
	r, err := b.Store.Settled(ctx, id, key)
	if b.record != nil && err == nil {
		r = b.record(r)
	}
	return r, err
}

// one stores one commit.
func one(ctx context.Context, s store.Store, c store.Commit) error {
	return s.Commit(ctx, []store.Commit{c})[0]
}

// rebased returns the commit, based on the record that is stored now, whatever has changed it
// since.
func rebased(ctx context.Context, s store.Store, c store.Commit, change func(*store.Run)) (store.Commit, error) {
	now, err := s.Run(ctx, c.Run.ID)
	if err != nil {
		return c, err
	}
	next := now.Clone()
	next.Version, c.Expect = now.Version+1, now.Version
	next.Seq = now.Seq + uint64(len(c.Events))
	next.LocalSeq = now.LocalSeq + uint64(len(c.Events))
	if next.UpdatedAt.Before(c.Run.UpdatedAt) {
		next.UpdatedAt = c.Run.UpdatedAt
	}
	change(&next)
	c.Run = next
	for i := range c.Events {
		c.Events[i].Seq = now.Seq + uint64(i) + 1
	}
	return c, nil
}

func isReply(c *store.Commit) bool {
	return c.Settled != nil && c.Settled[0].Resolution == interaction.UserReply
}

// isVote reports whether the commit is a vote that needs others.
func isVote(c *store.Commit) bool {
	return c.Settled == nil && linear.EventOf(c) == "interaction.recorded"
}

// openAs returns the record with its open questions changed.
func openAs(r store.Run, change func(*interaction.Question)) store.Run {
	r = r.Clone()
	for i := range r.Open {
		change(&r.Open[i])
	}
	return r
}

// every returns a function that is true at each nth call.
func every(n int) func() bool {
	var mu sync.Mutex
	calls := 0
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return calls%n == 0
	}
}

// brokenStores are bugs that real stores had, one in each.
var brokenStores = map[string]func() *broken{
	"check, then act: a reply that was checked is stored though another one was meanwhile": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if !errors.Is(err, store.ErrConflict) || !isReply(&c) {
				return err
			}
			again, failed := rebased(ctx, s, c, func(r *store.Run) { r.Answers = c.Run.Answers })
			if again.Settled = nil; failed != nil || again.Run.State != fsm.StateQueued || one(ctx, s, again) != nil {
				return err
			}
			return nil
		}}
	},
	"double accept: the loser of two replies is told that it won": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrConflict) && isReply(&c) {
				return nil
			}
			return err
		}}
	},
	"completed twice: two replies to several questions are both told that the run goes on with them": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrConflict) && isReply(&c) && c.Run.Together != nil &&
				c.Run.State == fsm.StateQueued {
				return nil
			}
			return err
		}}
	},
	"forgotten sibling: a reply to one of several questions is acknowledged, and forgotten": func() *broken {
		forgets := every(5)
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if isReply(&c) && c.Run.Together != nil && c.Run.State == fsm.StateWaitingUser && forgets() {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"settled, then extended: an end is moved though its question has changed": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrConflict) && linear.EventOf(&c) == "interaction.changed" {
				return nil
			}
			return err
		}}
	},
	"step carried out twice: a question is read as if its first step were still to come": func() *broken {
		return &broken{due: func(ctx context.Context, s store.Store, now time.Time, limit int) ([]store.Run, time.Time,
			error) {
			due, next, err := s.Due(ctx, now, limit)
			for i := range due {
				due[i].Open = slices.Clone(due[i].Open)
				for j := range due[i].Open {
					due[i].Open[j].Fired = 0
				}
			}
			return due, next, err
		}}
	},
	"quorum forgotten: an approval that several people decide is read as one person's": func() *broken {
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) { q.Need, q.Rejects = 0, 0 })
		}}
	},
	"a vote that lost the race is acknowledged": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrConflict) && isVote(&c) {
				return nil
			}
			return err
		}}
	},
	"a vote is acknowledged, and forgotten": func() *broken {
		forgets := every(5)
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if isVote(&c) && forgets() {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"one person, two votes: a vote is read as somebody else's": func() *broken {
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) {
				q.Votes = slices.Clone(q.Votes)
				for i := range q.Votes {
					q.Votes[i].Actor += "'s"
				}
			})
		}}
	},
	"stale delegate: a question is read as it was asked at first, though others are asked since": func() *broken {
		asked := sync.Map{}
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) {
				first, _ := asked.LoadOrStore(fmt.Sprint(r.ID, " ", q.ID), q.To.Clone())
				q.To = first.(*interaction.Audience)
			})
		}}
	},
	"stale claim: a question is read as if nobody had claimed it": func() *broken {
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) { q.Claim = nil })
		}}
	},
	"put to two: two who put a question to others at the same time are both told that they did": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if now, failed := s.Run(ctx, c.Run.ID); errors.Is(err, store.ErrConflict) && failed == nil &&
				linear.EventOf(&c) == "interaction.changed" && putToOthers(&now, &c.Run) {
				return nil
			}
			return err
		}}
	},
	"ruled twice: a rule that lost the race against a person is acknowledged": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrConflict) && len(c.Settled) > 0 && interaction.IsPolicy(c.Settled[0].Actor) {
				return nil
			}
			return err
		}}
	},
	"ruled out of sight: a question that a person has changed is read as if the policy decided it": func() *broken {
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) {
				if q.Subject != nil {
					q.HiddenFor = uint16(hides / time.Second)
				}
			})
		}}
	},
	"ruled too often: what a rule has decided is not in the history": func() *broken {
		return &broken{past: func(records []interaction.Record) []interaction.Record {
			return slices.DeleteFunc(slices.Clone(records), func(r interaction.Record) bool {
				return interaction.IsPolicy(r.Actor)
			})
		}}
	},
	"remembered and lost: a decision is stored without the calls that it covers": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if c.Fence == nil && len(c.Settled) > 0 {
				c.Run.Remembered = nil
			}
			return one(ctx, s, c)
		}}
	},
	"revoked and kept: a remembered decision is revoked, and stays": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if now, err := s.Run(ctx, c.Run.ID); err == nil && c.Expect == now.Version && revokes(&now, &c) {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"revoked and used: a run is read with the decisions that it once remembered": func() *broken {
		once := sync.Map{}
		return &broken{run: func(r store.Run) store.Run {
			if len(r.Remembered) > 0 {
				once.LoadOrStore(r.ID, slices.Clone(r.Remembered))
			} else if all, ok := once.Load(r.ID); ok && r.State == fsm.StateWaitingUser {
				r.Remembered = all.([]interaction.Memory)
			}
			return r
		}}
	},
	"noted and forgotten: a note is acknowledged, and not stored": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if linear.EventOf(&c) == "interaction.noted" {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"noted and shown: a note shows the approvals that the policy decides": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if linear.EventOf(&c) == "interaction.noted" {
				c.Run = openAs(c.Run, func(q *interaction.Question) { q.HiddenFor = 0 })
			}
			return one(ctx, s, c)
		}}
	},
	"deputy for ever: the directory says no dates": func() *broken {
		return &broken{directory: undated{}}
	},
	"one vote for two: the vote of a deputy is read as theirs alone": func() *broken {
		return &broken{run: func(r store.Run) store.Run {
			return openAs(r, func(q *interaction.Question) {
				q.Votes = slices.Clone(q.Votes)
				for i := range q.Votes {
					q.Votes[i].For = ""
				}
			})
		}}
	},
	"forked twice: two forks with one id are both told that they are new": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if errors.Is(err, store.ErrExists) && c.Run.ForkedFrom != nil {
				return nil
			}
			return err
		}}
	},
	"forked and written: a fork writes to its source": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if from := c.Run.ForkedFrom; err == nil && from != nil && c.Expect == 0 {
				write, failed := rebased(ctx, s, store.Commit{Run: store.Run{ID: from.RunID}}, func(*store.Run) {})
				if failed == nil {
					_ = one(ctx, s, write) // a source that has ended refuses it
				}
			}
			return err
		}}
	},
	"forked and lost: the last fork is not found from its source": func() *broken {
		return &broken{runs: func(q store.Query, page store.Page) store.Page {
			if q.ForkedFrom != "" && len(page.Runs) > 1 {
				page.Runs = page.Runs[1:]
			}
			return page
		}}
	},
	"forked without an answer: a fork goes on without what was settled last": func() *broken {
		return &broken{history: func(records []interaction.Record) []interaction.Record {
			return records[:max(0, len(records)-1)]
		}}
	},
	"fork of a fork: what it has inherited is not inherited from it": func() *broken {
		return &broken{spec: withoutHistory}
	},
	"forked with another's answer: a settled question is read as if everybody might have answered": func() *broken {
		return &broken{history: func(records []interaction.Record) []interaction.Record {
			records = slices.Clone(records)
			for i := range records {
				q := &records[i].Question
				q.To, q.Subject, q.Need, q.Rejects = nil, nil, 0, 0
			}
			return records
		}}
	},
	"asked again of others: a fork asks again without the audience of its source": func() *broken {
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			claimed, err := s.Claim(ctx, req)
			for i := range claimed {
				claimed[i].Spec = askingEverybody(claimed[i].Spec)
			}
			return claimed, err
		}}
	},
	"another's receipt: a reply that is known by its key is read as if everybody had been asked": func() *broken {
		return &broken{record: func(r interaction.Record) interaction.Record {
			r.Question.To = nil
			return r
		}}
	},
	"budget forgotten: a run that has used up its budget is queued as any other": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if b := c.Run.Block; b != nil && b.Code == fsm.CodeBudgetExhausted {
				c.Run.Block = nil
			}
			return one(ctx, s, c)
		}}
	},
	"raise forgotten: a decision about a budget is acknowledged, and forgotten": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			now, err := s.Run(ctx, c.Run.ID)
			if err == nil && now.Budget != nil && now.Budget.Limit != c.Run.Budget.Limit {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"usage counted twice: that of a turn whose end lost the race is counted, too": lostUsageCounted(),
	"usage lost: that of a turn is not stored with its end": func() *broken {
		loses := every(6)
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if c.Usage != nil && c.Run.Budget == nil && loses() {
				c.Usage = nil
			}
			return one(ctx, s, c)
		}}
	},
	"usage that shrinks: a reader is given what was used a moment ago": func() *broken {
		cached, hits := sync.Map{}, every(3)
		return &broken{usage: func(run string, turns []store.TurnUsage) []store.TurnUsage {
			if old, ok := cached.Load(run); ok && hits() {
				return old.([]store.TurnUsage)
			}
			cached.Store(run, turns)
			return turns
		}}
	},
	"double decision: two who resume a held run are told that they won": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			decides := linear.EventOf(&c) == "run.unblocked"
			for i := 0; decides && i < 2000; i++ {
				runtime.Gosched() // let others decide
			}
			err := one(ctx, s, c)
			if decides && errors.Is(err, store.ErrConflict) {
				return nil
			}
			return err
		}}
	},
	"lost update: a commit is acknowledged, and forgotten": func() *broken {
		forgets := every(20)
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if c.Expect > 0 && forgets() {
				return nil
			}
			return one(ctx, s, c)
		}}
	},
	"stale epoch accepted: a worker that was fenced off writes all the same": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			ends, reports := c.Run.State.Terminal(), c.Run.State == fsm.StateRunning
			if !errors.Is(err, store.ErrStaleEpoch) || !ends && !reports {
				return err
			}
			again, failed := rebased(ctx, s, c, func(r *store.Run) {
				if ends {
					r.State, r.FinishedAt, r.Slot, r.Owner, r.Answers = c.Run.State, r.UpdatedAt, false, "", nil
					r.Open, r.Deadline, r.Error, r.Output = nil, time.Time{}, c.Run.Error, c.Run.Output
				}
			})
			if again.Fence = nil; failed != nil || one(ctx, s, again) != nil {
				return err
			}
			return nil
		}}
	},
	"stale read: a cache that nobody clears": func() *broken {
		cached, hits := sync.Map{}, every(9)
		return &broken{run: func(r store.Run) store.Run {
			if old, ok := cached.Load(r.ID); ok && hits() {
				return old.(store.Run).Clone()
			}
			cached.Store(r.ID, r.Clone())
			return r
		}}
	},
	"keys forgotten: a reply that is sent again is not known": func() *broken {
		return &broken{settled: store.ErrNotFound}
	},
	"claimed twice: two nodes are given one run": func() *broken {
		return &broken{claim: func(ctx context.Context, s store.Store, req store.ClaimRequest) ([]store.Claimed,
			error) {
			claimed, err := s.Claim(ctx, req)
			page, failed := s.Runs(ctx, store.Query{States: []fsm.State{fsm.StateRunning}})
			if err != nil || failed != nil || len(claimed) > 0 {
				return claimed, err
			}
			for _, r := range page.Runs {
				if spec, err := s.Spec(ctx, r.ID); err == nil && r.Owner != req.Node {
					return []store.Claimed{{Run: r, Spec: spec}}, nil
				}
			}
			return nil, nil
		}}
	},
	"deadline fired early": func() *broken {
		return &broken{due: func(ctx context.Context, s store.Store, now time.Time, _ int) ([]store.Run, time.Time,
			error) {
			due, next, err := s.Due(ctx, now.Add(time.Second), store.MaxBatch)
			for i := range due {
				due[i].Deadline = now
			}
			return due, next, err
		}}
	},
	"the living taken for dead: recovery settles what a node executes": func() *broken {
		return &broken{orphans: func(ctx context.Context, s store.Store) ([]store.Run, error) {
			page, err := s.Runs(ctx, store.Query{States: []fsm.State{fsm.StateRunning}, Limit: 1})
			return page.Runs, err
		}}
	},
	"slot leaked: a run that waits keeps the slot that it gave up": func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			if c.Run.State == fsm.StateWaitingUser && c.Run.Owner != "" && c.Fence != nil {
				c.Run.Slot = true
			}
			return one(ctx, s, c)
		}}
	},
}

// withoutHistory returns the stored form of a fork's specification without the inherited history, but
// with the questions whose answers begin the fork, and other runs' unchanged.
func withoutHistory(body []byte) []byte {
	var parts []json.RawMessage
	var origin map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil || json.Unmarshal(parts[0], &origin) != nil {
		return body
	}
	var history, answers []json.RawMessage
	_ = json.Unmarshal(origin["history"], &history) // missing: without elements
	_ = json.Unmarshal(origin["answers"], &answers) // likewise
	begin := len(answers)
	if _, ok := origin["answer"]; ok {
		begin = 1
	}
	if origin["history"], _ = json.Marshal(history[len(history)-min(begin, len(history)):]); begin == 0 {
		delete(origin, "history")
	}
	parts[0], _ = json.Marshal(origin) // decoded before
	changed, _ := json.Marshal(parts)  // likewise
	return changed
}

// askingEverybody returns the stored form of a fork's specification with its repeated questions for
// everybody, and other runs' unchanged.
func askingEverybody(body []byte) []byte {
	var parts []json.RawMessage
	var origin map[string]json.RawMessage
	var asks []map[string]json.RawMessage
	if json.Unmarshal(body, &parts) != nil || json.Unmarshal(parts[0], &origin) != nil ||
		json.Unmarshal(origin["asks"], &asks) != nil {
		return body
	}
	for _, q := range asks {
		delete(q, "to")
	}
	origin["asks"], _ = json.Marshal(asks) // decoded before
	parts[0], _ = json.Marshal(origin)     // likewise
	changed, _ := json.Marshal(parts)      // likewise
	return changed
}

// undated is the directory of a world, without the dates.
type undated struct{ deputies }

func (d undated) Principals(ctx context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	all, err := d.deputies.Principals(ctx, id, at)
	for i := range all {
		all[i].From, all[i].Until = time.Time{}, time.Time{}
	}
	return all, err
}

// revokes reports whether the commit only ends remembered decisions.
func revokes(now *store.Run, c *store.Commit) bool {
	return len(c.Run.Remembered) < len(now.Remembered) && len(c.Settled) == 0 && c.Run.State == now.State
}

// putToOthers reports whether an open question of the one record is put to others in the other one.
func putToOthers(now, then *store.Run) bool {
	for _, q := range then.Open {
		if is := now.OpenQuestion(q.ID); is != nil && !is.To.Equal(q.To) {
			return true
		}
	}
	return false
}

// lostUsageCounted makes stores with a shared count.
func lostUsageCounted() func() *broken {
	lost := new(sync.Map)
	return func() *broken {
		return &broken{commit: func(ctx context.Context, s store.Store, c store.Commit) error {
			err := one(ctx, s, c)
			if c.Usage != nil && (errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrStaleEpoch)) {
				lost.Store(c.Run.ID, store.TurnUsage{Attempt: c.Run.Attempt, Usage: *c.Usage})
			}
			return err
		}, usage: func(run string, turns []store.TurnUsage) []store.TurnUsage {
			if t, ok := lost.Load(run); ok {
				return append(slices.Clip(turns), t.(store.TurnUsage))
			}
			return turns
		}}
	}
}

// spoil wraps each handle in a broken store.
func spoil(handles []store.Store, breaks func() *broken) (spoiled []store.Store) {
	for _, below := range handles {
		b := breaks()
		b.Store = below
		spoiled = append(spoiled, b)
	}
	return spoiled
}
