package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/simulate"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// careless is a store that accepts writes under a lost lease or epoch.
type careless struct{ store.Store }

func (s careless) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i := range batch {
		if errors.Is(errs[i], store.ErrStaleEpoch) {
			c := batch[i]
			c.Fence = nil
			errs[i] = s.Store.Commit(ctx, []store.Commit{c})[0]
		}
	}
	return errs
}

// torn is a store that stores events apart from records, and loses the events of every ninth
// commit.
type torn struct {
	store.Store
	commits int
	lost    map[string]map[uint64]bool
}

func (s *torn) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i := range batch {
		if s.commits++; errs[i] == nil && s.commits%9 == 0 {
			for _, e := range batch[i].Events {
				if s.lost[batch[i].Run.ID] == nil {
					s.lost[batch[i].Run.ID] = make(map[uint64]bool)
				}
				s.lost[batch[i].Run.ID][e.Seq] = true
			}
		}
	}
	return errs
}

func (s *torn) Events(ctx context.Context, id string, after uint64, limit int) ([]store.Event, error) {
	all, err := s.Store.Events(ctx, id, after, limit)
	var left []store.Event
	for _, e := range all {
		if !s.lost[id][e.Seq] {
			left = append(left, e)
		}
	}
	return left, err
}

// generous is a store that counts the free slots before it claims, so that two concurrent claims
// can use one slot more than there is.
type generous struct {
	store.Store
	claims int
}

func (s *generous) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	pools, err := s.Pools(ctx)
	if err != nil {
		return nil, err
	}
	if s.claims++; s.claims%5 != 0 {
		return s.Store.Claim(ctx, req)
	}
	set := func(more int) {
		for _, p := range pools {
			_ = s.SetPool(ctx, slots.Pool{Name: p.Name, Capacity: p.Capacity + more, KeyCapacity: p.KeyCapacity})
		}
	}
	set(1)
	defer set(0)
	return s.Store.Claim(ctx, req)
}

// twice is a store that does not compare versions: a commit that lost a race, or a retry of a
// stored one, is stored after the first.
type twice struct{ store.Store }

func (s twice) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := s.Store.Commit(ctx, batch)
	for i := range batch {
		if errors.Is(errs[i], store.ErrConflict) {
			if now, err := s.Run(ctx, batch[i].Run.ID); err == nil {
				errs[i] = s.Store.Commit(ctx, []store.Commit{following(batch[i], now)})[0]
			}
		}
	}
	return errs
}

// following returns the commit, changed so that it follows the current record.
func following(c store.Commit, now store.Run) store.Commit {
	shift := now.Seq - (c.Run.Seq - uint64(len(c.Events)))
	c.Expect, c.Run.Version, c.Run.Seq = now.Version, now.Version+1, c.Run.Seq+shift
	events := make([]store.Event, len(c.Events))
	for i, e := range c.Events {
		from, to := fmt.Sprintf(`"seq":%d,`, e.Seq), fmt.Sprintf(`"seq":%d,`, e.Seq+shift)
		events[i] = store.Event{Seq: e.Seq + shift, Body: bytes.Replace(e.Body, []byte(from), []byte(to), 1)}
	}
	c.Events = events
	return c
}

// undead is a store that acknowledges the end of a lease, but keeps accepting writes under it.
type undead struct{ store.Store }

func (s undead) Expire(ctx context.Context, now time.Time, ids ...string) ([]store.Node, error) {
	gone, err := s.Store.Expire(ctx, now, ids...)
	for _, n := range gone {
		if n.Until.Before(now) {
			_ = s.Join(ctx, n, now)
		}
	}
	return gone, err
}

// keyless is a store that forgets the keys of accepted replies.
type keyless struct{ store.Store }

func (keyless) Settled(context.Context, string, string) (interaction.Record, error) {
	return interaction.Record{}, store.ErrNotFound
}

// forgetful is a store that does not keep how many of several questions were answered.
type forgetful struct{ store.Store }

func (s forgetful) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		if t := batch[i].Run.Together; t != nil {
			changed := *t
			changed.Replies = 0
			batch[i].Run.Together = &changed
		}
	}
	return s.Store.Commit(ctx, batch)
}

// unremembering is a store that now and then shows a question as if no step of its wait had been
// carried out.
type unremembering struct {
	store.Store
	reads int
}

func (s *unremembering) Due(ctx context.Context, now time.Time, limit int) ([]store.Run, time.Time, error) {
	due, next, err := s.Store.Due(ctx, now, limit)
	for i := range due {
		if q := due[i].FirstOpen(); q != nil && q.Fired > 0 {
			if s.reads++; s.reads%3 == 0 {
				again := *q
				again.Fired = 0
				due[i].Open = []interaction.Question{again}
			}
		}
	}
	return due, next, err
}

// stale is a store that stores a step of a question, and not whom it is escalated to.
type stale struct{ store.Store }

func (s stale) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		q := batch[i].Run.FirstOpen()
		before, err := s.Run(ctx, batch[i].Run.ID)
		if err != nil || q == nil || len(before.Open) == 0 || before.Open[0].ID != q.ID {
			continue
		}
		changed := *q
		changed.To = before.Open[0].To
		batch[i].Run.Open = []interaction.Question{changed}
	}
	return s.Store.Commit(ctx, batch)
}

// blind is a store that shows questions without who has claimed them.
type blind struct{ store.Store }

func (s blind) Run(ctx context.Context, id string) (store.Run, error) {
	run, err := s.Store.Run(ctx, id)
	if err == nil && len(run.Open) > 0 && run.Open[0].Claim != nil {
		shown := run.Open[0]
		shown.Claim = nil
		run.Open = []interaction.Question{shown}
	}
	return run, err
}

// overwriting is a store that keeps only the last vote of a question that was settled.
type overwriting struct{ store.Store }

func (s overwriting) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Settled = slices.Clone(batch[i].Settled)
		for j := range batch[i].Settled {
			if q := &batch[i].Settled[j].Question; len(q.Votes) > 1 {
				q.Votes = q.Votes[len(q.Votes)-1:]
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// unmoved is a store that records a reassignment but keeps the old audience.
type unmoved struct{ store.Store }

func (s unmoved) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		c := &batch[i]
		q := c.Run.FirstOpen()
		before, err := s.Run(ctx, c.Run.ID)
		if err != nil || q == nil || len(before.Open) == 0 || before.Open[0].ID != q.ID || len(c.Events) == 0 ||
			!bytes.Contains(c.Events[0].Body, []byte(`"change":"reassign"`)) {
			continue
		}
		changed := *q
		changed.To = before.Open[0].To
		c.Run.Open = []interaction.Question{changed}
	}
	return s.Store.Commit(ctx, batch)
}

// unsteady is a store that keeps no more votes on a question after a step of its wait.
type unsteady struct{ store.Store }

func (s unsteady) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		run := &batch[i].Run
		before, err := s.Run(ctx, run.ID)
		if err != nil || len(run.Open) == 0 {
			continue
		}
		open := slices.Clone(run.Open)
		for j := range open {
			if q := before.OpenQuestion(open[j].ID); q != nil && q.Fired > 0 {
				open[j].Votes = q.Votes
			}
		}
		run.Open = open
	}
	return s.Store.Commit(ctx, batch)
}

// lavish is a store that sometimes forgets a turn's usage.
type lavish struct {
	store.Store
	stored int
}

func (s *lavish) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		if c := &batch[i]; c.Usage != nil && c.Run.Budget == nil {
			if s.stored++; s.stored%3 == 0 {
				c.Usage = nil
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// skipping is a store whose feeds pass over a commit that was stored while another one was.
type skipping struct {
	store.Store
	reads int
}

func (s *skipping) ReadFeed(ctx context.Context, l store.FeedLease, after store.FeedPosition, limit int) (
	store.FeedPage, error,
) {
	page, err := s.Store.ReadFeed(ctx, l, after, limit)
	if n := len(page.Commits); n > 1 {
		if s.reads++; s.reads%5 == 0 {
			page.Commits = slices.Delete(page.Commits, n-2, n-1)
		}
	}
	return page, err
}

// oblivious is a store that sometimes forgets the cursor of a feed, and continues from the earlier
// one.
type oblivious struct {
	store.Store
	acks int
}

func (s *oblivious) AckFeed(ctx context.Context, l store.FeedLease, to store.FeedPosition, now time.Time) error {
	if s.acks++; s.acks%3 == 0 {
		to = ""
	}
	return s.Store.AckFeed(ctx, l, to, now)
}

// sharing is a store that gives a feed to another reader while its lease lasts.
type sharing struct {
	store.Store
	asked int
}

func (s *sharing) LeaseFeed(ctx context.Context, name string, length time.Duration, now time.Time) (store.FeedLease,
	bool, error,
) {
	l, free, err := s.Store.LeaseFeed(ctx, name, length, now)
	if s.asked++; err == nil && !free && s.asked%5 == 0 {
		return s.Store.LeaseFeed(ctx, name, length, now.Add(time.Minute))
	}
	return l, free, err
}

// orphaning is a store that does not keep of which run a fork is one.
type orphaning struct{ store.Store }

func (s orphaning) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Run.ForkedFrom = nil
	}
	return s.Store.Commit(ctx, batch)
}

// latest is a store that has the session of a run as it is now with every question that was
// settled.
type latest struct{ store.Store }

func (s latest) History(ctx context.Context, id string, q store.HistoryQuery) (store.Run, []interaction.Record, error) {
	run, records, err := s.Store.History(ctx, id, q)
	records = slices.Clone(records)
	for i := range records {
		records[i].Session = run.Session
	}
	return run, records, err
}

// mute is a store that keeps that a default answer was taken, and not which.
type mute struct{ store.Store }

func (s mute) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Settled = slices.Clone(batch[i].Settled)
		for j := range batch[i].Settled {
			if r := &batch[i].Settled[j]; r.Resolution == interaction.DefaultAnswer {
				r.Response = ""
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// rehiding is a store that keeps approvals hidden after a change, so that the policy acts again.
type rehiding struct{ store.Store }

func (s rehiding) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		run := &batch[i].Run
		before, err := s.Run(ctx, run.ID)
		if err != nil {
			continue
		}
		run.Open = slices.Clone(run.Open)
		for j := range run.Open {
			if q := before.OpenQuestion(run.Open[j].ID); q != nil {
				run.Open[j].HiddenFor = q.HiddenFor
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// indiscreet is a store whose lists show hidden approvals.
type indiscreet struct{ store.Store }

func (s indiscreet) Waiting(ctx context.Context, q store.WaitingQuery) (store.Page, error) {
	page, err := s.Store.Waiting(ctx, q)
	if q.VisibleAt.IsZero() {
		return page, err
	}
	q.VisibleAt = q.VisibleAt.Add(time.Hour)
	return s.Store.Waiting(ctx, q)
}

// misnaming is a store that names the first version of each rule.
type misnaming struct{ store.Store }

func (s misnaming) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		batch[i].Settled = slices.Clone(batch[i].Settled)
		for j := range batch[i].Settled {
			if r := &batch[i].Settled[j]; interaction.IsPolicy(r.Actor) {
				r.Actor = strings.Replace(r.Actor, "@2", "@1", 1)
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// recalling is a store that changes remembered decisions when a run remembers one.
type recalling struct {
	store.Store
	change func(*interaction.Memory)
}

func (s recalling) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		run := &batch[i].Run
		before, err := s.Run(ctx, run.ID)
		run.Remembered = slices.Clone(run.Remembered)
		for j := range run.Remembered {
			if m := &run.Remembered[j]; err == nil && before.Memory(m.ID) == nil {
				s.change(m)
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// unforgetting is a store that stores the event which ends a remembered decision, and not its end.
type unforgetting struct{ store.Store }

func (s unforgetting) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		c := &batch[i]
		before, err := s.Run(ctx, c.Run.ID)
		if err == nil && len(c.Run.Remembered) < len(before.Remembered) && !c.Run.State.Terminal() {
			c.Run.Remembered = before.Remembered
		}
	}
	return s.Store.Commit(ctx, batch)
}

// principalless is a store that keeps votes without the absent people for whom deputies gave them.
type principalless struct{ store.Store }

func (s principalless) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		run := &batch[i].Run
		run.Open = slices.Clone(run.Open)
		for j := range run.Open {
			run.Open[j].Votes = slices.Clone(run.Open[j].Votes)
			for k := range run.Open[j].Votes {
				run.Open[j].Votes[k].For = ""
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// unexcepting is a store that keeps an audience without the people whom it excludes.
type unexcepting struct{ store.Store }

func (s unexcepting) Commit(ctx context.Context, batch []store.Commit) []error {
	batch = slices.Clone(batch)
	for i := range batch {
		run := &batch[i].Run
		run.Open = slices.Clone(run.Open)
		for j := range run.Open {
			if to := run.Open[j].To.Clone(); to != nil {
				to.Except = nil
				run.Open[j].To = to
			}
		}
	}
	return s.Store.Commit(ctx, batch)
}

// undated is a directory whose deputies may act at any time.
type undated struct{ lifecycle.Directory }

func (d undated) Principals(ctx context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	found, err := d.Directory.Principals(ctx, id, at)
	for i := range found {
		found[i].From, found[i].Until = time.Time{}, time.Time{}
	}
	return found, err
}

// Deputies who act before or after their time are found.
func TestN10ABrokenDirectoryIsFound(t *testing.T) {
	sample.Sequential(t)
	const within = 1500
	for seed := *from; seed < *from+within; seed++ {
		r := world(t, seed, simulate.Options{Directory: func(d lifecycle.Directory) lifecycle.Directory {
			return undated{d}
		}})
		if strings.Contains(strings.Join(r.Broken, "\n"), "is not their deputy") {
			return
		}
	}
	t.Errorf("%d worlds do not show it", within)
}

// A check that cannot fail proves nothing: it must find each broken store within a few seeds.
func TestABrokenStoreIsFound(t *testing.T) {
	sample.Sequential(t) // TestSeeds has worlds for the race detector
	const within = 1500
	for name, broken := range map[string]struct {
		open func(store.Store) store.Store
		why  string // a part of the message; empty if different promises may be broken
	}{
		"a stale epoch is accepted": {func(s store.Store) store.Store { return careless{s} }, ""},
		"events are stored apart": {func(s store.Store) store.Store {
			return &torn{Store: s, lost: make(map[string]map[uint64]bool)}
		}, "its log has"},
		"a claim goes beyond the capacity": {func(s store.Store) store.Store {
			return &generous{Store: s}
		}, "slots are held, and there are"},
		"a retry is applied twice":            {func(s store.Store) store.Store { return twice{s} }, "run "},
		"an expired lease is as good as ever": {func(s store.Store) store.Store { return undead{s} }, ""},
		"keys of replies are forgotten": {func(s store.Store) store.Store {
			return keyless{s}
		}, "came too late, and it was accepted"},
		"replies to several questions are not counted": {func(s store.Store) store.Store {
			return forgetful{s}
		}, "the questions from"},
		"a step is carried out again": {func(s store.Store) store.Store {
			return &unremembering{Store: s}
		}, "it is step 1"},
		"an escalation is stored without its audience": {func(s store.Store) store.Store { return stale{s} }, ""},
		"a claim is not shown":                         {func(s store.Store) store.Store { return blind{s} }, "claim"},
		"earlier votes are forgotten": {func(s store.Store) store.Store {
			return overwriting{s}
		}, "the vote "},
		"a question that is put to others keeps those who were asked": {func(s store.Store) store.Store {
			return unmoved{s}
		}, "question"},
		"votes after a step are not kept": {func(s store.Store) store.Store { return unsteady{s} }, "vote"},
		"what a turn has used is forgotten": {func(s store.Store) store.Store {
			return &lavish{Store: s}
		}, "have used"},
		"a feed passes over a commit": {func(s store.Store) store.Store {
			return &skipping{Store: s}
		}, "passed over"},
		"an acknowledgement of a feed is forgotten": {func(s store.Store) store.Store {
			return &oblivious{Store: s}
		}, "again"},
		"a feed is given to two readers": {func(s store.Store) store.Store {
			return &sharing{Store: s}
		}, "the feed is leased"},
		"a fork does not know its source": {func(s store.Store) store.Store { return orphaning{s} }, "fork"},
		"a fork has the session of a later question": {func(s store.Store) store.Store {
			return latest{s}
		}, ".fork: "},
		"an approval stays hidden after a change": {func(s store.Store) store.Store {
			return rehiding{s}
		}, "has acted on it before"},
		"hidden approvals are listed": {func(s store.Store) store.Store {
			return indiscreet{s}
		}, "that it is listed"},
		"a rule's version is not kept": {func(s store.Store) store.Store { return misnaming{s} }, "is settled by"},
		"a remembered decision that was ended stays": {func(s store.Store) store.Store {
			return unforgetting{s}
		}, "it remembers the decision"},
		"a remembered decision has no end": {func(s store.Store) store.Store {
			return recalling{s, func(m *interaction.Memory) { m.Until = m.Until.Add(time.Hour) }}
		}, "it had expired"},
		"a remembered decision has no bounds": {func(s store.Store) store.Store {
			return recalling{s, func(m *interaction.Memory) { m.Equal, m.Most = nil, nil }}
		}, "it covers"},
		"a deputy's vote is kept without the absent person": {func(s store.Store) store.Store {
			return principalless{s}
		}, "vote"},
		"a submitter is not excluded": {func(s store.Store) store.Store {
			return unexcepting{s}
		}, "is the submitter"},
		"a default answer is stored empty": {func(s store.Store) store.Store { return mute{s} }, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := *from; seed < *from+within; seed++ {
				r := world(t, seed, simulate.Options{Store: broken.open})
				if len(r.Broken) > 0 && strings.Contains(strings.Join(r.Broken, "\n"), broken.why) {
					t.Logf("seed %d: %s", seed, r.Broken)
					return
				}
			}
			t.Errorf("%d worlds do not show %q", within, broken.why)
		})
	}
}
