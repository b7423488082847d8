package simulate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/store"
)

// This file has the judge of the feed (K8): it skips nothing, delivers the events of a run in
// order, repeats unacknowledged events, and never acknowledged ones.

// fed is something that happened between the feed and a reader.
type fed struct {
	view *view
	what feedNote
	run  string
	seq  uint64
	part bool // of an acknowledgement: other events of the same commit may follow
}

type feedNote int

const (
	feedLeased feedNote = iota // the reader is served from now on
	feedGave
	feedAcks  // the reader acknowledges its events; whether that is stored is unknown
	feedAcked // that is stored
)

// feedWitness records where the feed began, its last lease, and what its readers were given.
type feedWitness struct {
	begins map[string]uint64 // the events of each run that were stored when the feed was created
	epoch  uint64
	until  time.Time // the end of the last lease; zero when it was given back
	notes  []fed     // guarded by world.mu
}

func (w *world) fed(note fed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feed.notes = append(w.feed.notes, note)
}

func (w *world) createFeed(f store.Feed) error {
	err := w.store.CreateFeed(w.ctx, f)
	if err == nil {
		w.feed.begins = make(map[string]uint64)
		for id, run := range w.witness.runs {
			w.feed.begins[id] = run.Seq
		}
	}
	return err
}

func (w *world) leaseFeed(v *view, name string, length time.Duration, now time.Time) (l feedLease, err error) {
	x := &w.feed
	l.FeedLease, l.free, err = w.store.LeaseFeed(w.ctx, name, length, now)
	if err != nil || !l.free {
		return l, err
	}
	if now.Before(x.until) || l.Epoch <= x.epoch {
		w.fault(fmt.Sprintf("the feed is leased to %s as %d at %s, and it was leased as %d until %s", v.name, l.Epoch,
			now, x.epoch, x.until))
	}
	if !x.until.IsZero() {
		w.saw("a reader of a feed took over from one that had not given it back")
	}
	x.epoch, x.until = l.Epoch, now.Add(length)
	w.fed(fed{view: v, what: feedLeased})
	return l, nil
}

func (w *world) ackFeed(l store.FeedLease, to store.FeedPosition, now time.Time) error {
	err := w.store.AckFeed(w.ctx, l, to, now)
	if err == nil && l.Epoch != w.feed.epoch {
		w.fault(fmt.Sprintf("an acknowledgement of lease %d was accepted, and the feed is leased as %d", l.Epoch,
			w.feed.epoch))
	}
	if err == nil {
		w.feed.until = now.Add(l.Length)
	}
	return err
}

func (w *world) releaseFeed(l store.FeedLease) error {
	err := w.store.ReleaseFeed(w.ctx, l)
	if err == nil && l.Epoch == w.feed.epoch {
		w.feed.until = time.Time{}
	}
	return err
}

// feedBehind lists the events not acknowledged yet.
func (w *world) feedBehind() string {
	if !w.plan.feed.read {
		return ""
	}
	all, err := w.store.Feeds(w.ctx)
	i := slices.IndexFunc(all, func(f store.FeedStatus) bool { return f.Name == feedName })
	switch {
	case err != nil || i < 0:
		return fmt.Sprintf("nobody has created the feed (%v)", err)
	case all[i].Unacked > 0:
		return fmt.Sprintf("%d commits are not acknowledged", all[i].Unacked)
	}
	return ""
}

// feedSession is what one reader was given under one lease.
type feedSession struct {
	got       []fed
	last      map[string]uint64 // by run
	confirmed map[string]uint64 // known to be acknowledged when it began
}

// feedJudge follows the feed.
type feedJudge struct {
	*world

	logs     map[string][]uint64 // by run: the numbers of the events that the readers want
	sessions map[*view]*feedSession
	// The last acknowledged events, and the last ones known to be stored as acknowledged.
	acked, confirmed map[string]uint64
}

// judgeFeed explains which event the readers of the feed did not get, or got out of order, or
// again.
func (w *world) judgeFeed(endings []*ending) string {
	if !w.plan.feed.read {
		return ""
	}
	j := &feedJudge{world: w, logs: make(map[string][]uint64), sessions: make(map[*view]*feedSession),
		acked: maps.Clone(w.feed.begins), confirmed: make(map[string]uint64)}
	for _, e := range endings {
		for i := range e.log {
			event := &e.log[i]
			wanted := w.plan.feed.types == nil || slices.Contains(w.plan.feed.types, event.Type)
			if wanted && event.Seq > w.feed.begins[e.run.ID] {
				j.logs[e.run.ID] = append(j.logs[e.run.ID], event.Seq)
			}
		}
	}
	for i := range w.feed.notes {
		if why := j.follow(&w.feed.notes[i]); why != "" {
			return fmt.Sprintf("the feed, read by %s: %s", w.feed.notes[i].view.name, why)
		}
	}
	return j.rest()
}

// follow processes the next note, and returns its fault.
func (j *feedJudge) follow(n *fed) string {
	s := j.sessions[n.view]
	switch n.what {
	case feedLeased:
		j.sessions[n.view] = &feedSession{last: make(map[string]uint64), confirmed: maps.Clone(j.confirmed)}
	case feedGave:
		return j.gave(s, n)
	case feedAcks:
		for run, seq := range s.last {
			j.acked[run] = max(j.acked[run], seq)
		}
	case feedAcked:
		got := s.got
		for run := s.got[len(s.got)-1].run; n.part && len(got) > 0 && got[len(got)-1].run == run; {
			got = got[:len(got)-1] // the events of one commit are acknowledged by the last of them
		}
		for _, e := range got {
			j.confirmed[e.run] = max(j.confirmed[e.run], e.seq)
		}
	}
	return ""
}

// gave explains why the session must not have been given the event.
func (j *feedJudge) gave(s *feedSession, n *fed) string {
	last, goesOn := s.last[n.run]
	if !goesOn {
		last = j.acked[n.run]
	}
	next := slices.IndexFunc(j.logs[n.run], func(seq uint64) bool { return seq > last })
	switch {
	case !slices.Contains(j.logs[n.run], n.seq):
		return fmt.Sprintf("it gave event %d of run %s, which does not exist or was not asked for", n.seq, n.run)
	case n.seq <= s.confirmed[n.run]:
		return fmt.Sprintf("it gave event %d of run %s again, which was acknowledged", n.seq, n.run)
	case goesOn && n.seq <= last:
		return fmt.Sprintf("it gave event %d of run %s after event %d", n.seq, n.run, last)
	case next >= 0 && n.seq > j.logs[n.run][next]:
		return fmt.Sprintf("it gave event %d of run %s, and has passed over event %d", n.seq, n.run,
			j.logs[n.run][next])
	case n.seq <= last:
		j.saw("a reader of a feed got what another one had got before")
	}
	s.got, s.last[n.run] = append(s.got, *n), n.seq
	return ""
}

// rest reads the unacknowledged events, and reports missing ones.
func (j *feedJudge) rest() string {
	l, _, err := j.store.LeaseFeed(j.ctx, feedName, time.Second, time.Now().Add(time.Hour))
	if err != nil {
		return err.Error()
	}
	left, err := j.store.ReadFeed(j.ctx, l, l.Cursor, 10_000)
	if err != nil {
		return err.Error()
	}
	first := make(map[string]uint64) // of each run, among the rest
	for _, c := range left.Commits {
		if len(c.Events) > 0 && first[c.RunID] == 0 {
			first[c.RunID] = c.Events[0].Seq
		}
	}
	for run, wanted := range j.logs {
		for _, seq := range wanted {
			if seq > j.acked[run] && (first[run] == 0 || seq < first[run]) {
				return fmt.Sprintf("the feed has passed over event %d of run %s", seq, run)
			}
			if first[run] > 0 && seq >= first[run] && seq <= j.confirmed[run] {
				return fmt.Sprintf("the feed would give event %d of run %s again, which was acknowledged", seq, run)
			}
		}
	}
	return ""
}
