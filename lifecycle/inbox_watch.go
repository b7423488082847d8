package lifecycle

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// InboxChange is a change of an inbox.
type InboxChange struct {
	// Reload: list the whole inbox, at the beginning of a watch and when more has changed than it
	// remembers. No other field is set.
	Reload bool
	// RunID is the run whose open questions have changed.
	RunID string
	// Questions are the run's questions now in the inbox, changed or not, by number.
	Questions []InboxQuestion
	// Gone are the numbers of the run's questions that left the inbox, seen or not: settled,
	// reassigned, or voted on by its person.
	Gone []int
}

// InboxWatch reports changes of an inbox. Create it with Client.WatchInbox, and Close it. Its
// methods are for one goroutine; a slow one delays no other.
type InboxWatch struct {
	client  *Client
	tracker *inboxTracker
	wake    chan struct{}

	mu      sync.Mutex         // guards the fields below
	query   InboxQuery         // with the principals as last read
	waiting store.WaitingQuery // from query
	reload  bool
	runs    map[string]*watchedRun // not yet returned by Next
	order   []string               // ids of runs by time of change
}

// watchedRun is a run that has changed since Next returned it.
type watchedRun struct {
	was   []int // numbers of questions that were in the inbox since then
	after *Run  // the current record; nil if deleted
}

const (
	// maxWatched limits the changed runs that a watch remembers. A slower reader lists its inbox.
	maxWatched = 1000
	// inboxRescan is the interval of listing the waiting runs, which takes 1/inboxShare of the time at
	// most.
	inboxRescan = 5 * time.Second
	inboxShare  = 20
	// maxInboxHints limits the changed runs remembered between two reads.
	maxInboxHints = 10_000
)

// WatchInbox reports changes of the inbox that Inbox lists for the query; After and Limit are
// ignored. A question changes when it has an event, or becomes visible (Question.HiddenUntil), but
// not when its claim expires (Question.Claim).
//
// The first InboxChange has Reload set. A caller that then lists the inbox and applies later
// changes has the current inbox, usually at once with a store.Watcher, and a few seconds late at
// most while the store answers. Several changes of a run may be reported as one.
//
// All watches of a client together list all waiting runs every 5 seconds, less often if that takes
// more than a quarter of a second, since hints may be lost. Authorize is asked as for Inbox, and
// again by InboxWatch.Recheck.
func (c *Client) WatchInbox(ctx context.Context, query InboxQuery) (*InboxWatch, error) {
	query.After, query.Limit = "", 0
	if _, err := c.checkInbox(ctx, &query); err != nil {
		return nil, err
	}
	if err := c.allowInbox(ctx, &query); err != nil {
		return nil, err
	}
	c.deputies.findForList(ctx, &query.For, c.proc.Now())
	w := &InboxWatch{client: c, query: query, waiting: query.waiting(time.Time{}), wake: make(chan struct{}, 1),
		runs: make(map[string]*watchedRun)}
	c.inboxes.join(c, w)
	return w, nil
}

// Next waits for the next change, until ctx ends. Call it again then: no change is lost.
func (w *InboxWatch) Next(ctx context.Context) (InboxChange, error) {
	for {
		if change, ok := w.drainOne(); ok {
			return change, nil
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return InboxChange{}, ctx.Err()
		}
	}
}

// Recheck asks Authorize again whether the client's actor may see the inbox, and the directory for
// whom the person may act. If that changed, the next change has Reload set.
func (w *InboxWatch) Recheck(ctx context.Context) error {
	w.mu.Lock()
	query, was := w.query, w.query.For.Principals
	w.mu.Unlock()
	w.client.deputies.findForList(ctx, &query.For, w.client.proc.Now())
	if err := w.client.allowInbox(ctx, &query); err != nil {
		return err
	}
	if reflect.DeepEqual(was, query.For.Principals) {
		return nil
	}
	w.mu.Lock()
	w.query, w.waiting = query, query.waiting(time.Time{})
	w.mu.Unlock()
	w.requestReload()
	return nil
}

// Close ends the watch.
func (w *InboxWatch) Close() { w.client.inboxes.leave(w) }

func (w *InboxWatch) drainOne() (change InboxChange, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reload {
		w.reload = false
		return InboxChange{Reload: true}, true
	}
	if len(w.order) == 0 {
		return InboxChange{}, false
	}
	change.RunID, w.order = w.order[0], w.order[1:]
	run := w.runs[change.RunID]
	delete(w.runs, change.RunID)
	change.Questions = w.questions(run.after)
	for _, number := range run.was {
		if !slices.ContainsFunc(change.Questions, func(q InboxQuestion) bool { return q.Question.ID == number }) {
			change.Gone = append(change.Gone, number)
		}
	}
	return change, true
}

// requestReload replaces all pending changes by a Reload.
func (w *InboxWatch) requestReload() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reload, w.order = true, nil
	clear(w.runs)
	w.signal()
}

// noteChange records a run's change, if the inbox has or had questions of it.
func (w *InboxWatch) noteChange(id string, before, after *Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.questions(before)
	if len(was) == 0 && len(w.questions(after)) == 0 {
		return
	}
	run := w.runs[id]
	switch {
	case run == nil && len(w.runs) == maxWatched:
		w.reload, w.order = true, nil
		clear(w.runs)
		w.signal()
		return
	case run == nil:
		run = new(watchedRun)
		w.runs[id] = run
		w.order = append(w.order, id)
	}
	run.after = after
	for i := range was {
		if number := was[i].Question.ID; !slices.Contains(run.was, number) {
			run.was = append(run.was, number)
		}
	}
	w.signal()
}

func (w *InboxWatch) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // its reader is about to wake
	}
}

// inboxWatches starts a tracker with the first watch and ends it with the last one.
type inboxWatches struct {
	mu      sync.Mutex
	tracker *inboxTracker // guarded by mu; nil without watches
	count   int           // guarded by mu
}

func (s *inboxWatches) join(c *Client, w *InboxWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker == nil {
		s.tracker = startInboxTracker(c)
	}
	s.count++
	w.tracker = s.tracker
	s.tracker.add(w)
}

func (s *inboxWatches) leave(w *InboxWatch) {
	if !w.tracker.remove(w) {
		return // it was closed before
	}
	s.mu.Lock()
	s.count--
	last := s.count == 0
	if last {
		s.tracker = nil
	}
	s.mu.Unlock()
	if last {
		w.tracker.cancel()
		<-w.tracker.done
	}
}

// inboxTracker tracks the waiting runs for all watches of a client. Only its goroutine reads the
// store and writes waiting.
type inboxTracker struct {
	client *Client
	cancel context.CancelFunc
	done   chan struct{} // closed at the goroutine's end
	wake   chan struct{}

	mu      sync.Mutex // guards the fields below
	watches map[*InboxWatch]struct{}
	ready   bool                 // waiting is complete
	waiting map[string]*Run      // the waiting runs, by id, reduced by inboxPart
	hinted  map[string]*Run      // runs that have changed; nil: to be read
	applied map[string]*Run      // members of hinted being applied
	rescan  bool                 // any run may have changed
	reveals map[string]time.Time // when the run's first hidden question becomes visible
}

func startInboxTracker(c *Client) *inboxTracker {
	ctx, cancel := context.WithCancel(context.Background())
	t := &inboxTracker{client: c, cancel: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1),
		watches: make(map[*InboxWatch]struct{}), waiting: make(map[string]*Run), hinted: make(map[string]*Run),
		reveals: make(map[string]time.Time)}
	go t.run(ctx)
	return t
}

func (t *inboxTracker) add(w *InboxWatch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watches[w] = struct{}{}
	if t.ready {
		w.requestReload()
	}
}

func (t *inboxTracker) remove(w *InboxWatch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, there := t.watches[w]
	delete(t.watches, w)
	return there
}

func (t *inboxTracker) run(ctx context.Context) {
	defer close(t.done)
	f := t.client.hub.subscribe(t.note)
	defer f.close()
	var scanned time.Time // the start of the last scan
	var took time.Duration
	var failed bool
	for ctx.Err() == nil {
		rest := t.untilScan(scanned, took)
		if rest <= 0 {
			scanned = node.MonotonicNow(t.client.proc.Clock)
			err := t.scan(ctx)
			if err != nil {
				t.scanSoon()
			}
			if err != nil && !failed && ctx.Err() == nil {
				t.client.proc.Log.Warn("inbox not read; trying again", "err", err)
			}
			failed = err != nil
			took = node.MonotonicNow(t.client.proc.Clock).Sub(scanned)
			continue
		}
		if t.applyHints(ctx) {
			_ = t.client.proc.Sleep(ctx, min(feedPause, t.client.poll)) // reads several changes together
			continue
		}
		tick, stop := t.client.proc.Clock.Timer(min(rest, t.revealDue()))
		select {
		case <-t.wake:
		case <-tick:
		case <-ctx.Done():
		}
		stop()
	}
}

// revealDue notifies the watches of questions that became visible by time, and returns the time until
// the next one does, at most inboxRescan.
func (t *inboxTracker) revealDue() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.reveals) == 0 {
		return inboxRescan
	}
	next, now := inboxRescan, t.client.proc.Now()
	for id, at := range t.reveals {
		if at.After(now) {
			next = min(next, at.Sub(now))
			continue
		}
		run := t.waiting[id]
		t.noteReveal(id, run)
		for w := range t.watches {
			w.noteChange(id, run, run)
		}
	}
	return next
}

// noteReveal notes when the run's next hidden question becomes visible.
func (t *inboxTracker) noteReveal(id string, run *Run) {
	delete(t.reveals, id)
	if run == nil {
		return
	}
	now := t.client.proc.Now()
	for i := range run.Open {
		q := &run.Open[i]
		if at := t.reveals[id]; q.Hidden(now) && (at.IsZero() || q.HiddenUntil().Before(at)) {
			t.reveals[id] = q.HiddenUntil()
		}
	}
}

func (t *inboxTracker) untilScan(scanned time.Time, took time.Duration) time.Duration {
	if scanned.IsZero() {
		return 0
	}
	t.mu.Lock()
	interval := inboxRescan
	if t.rescan {
		interval = min(inboxRescan, t.client.poll)
	}
	t.mu.Unlock()
	return max(interval, inboxShare*took) - node.MonotonicNow(t.client.proc.Clock).Sub(scanned)
}

// note keeps the hints of runs that wait, or waited.
func (t *inboxTracker) note(hint store.Hint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := hint.RunID
	if id == "" || len(t.hinted) >= maxInboxHints {
		t.rescan = true
	} else {
		waited := t.waiting[id] != nil
		other, hinted := t.hinted[id]
		_, applied := t.applied[id]
		if !waited && !hinted && !applied && hint.State != "" && hint.State != StateWaitingUser {
			return
		}
		late := hinted && (other == nil || hint.Run != nil && hint.Run.Version < other.Version)
		if !late {
			t.hinted[id] = hint.Run
		}
	}
	select {
	case t.wake <- struct{}{}:
	default: // the goroutine is about to wake
	}
}

// applyHints reads the runs named in hints, and reports whether there were any.
func (t *inboxTracker) applyHints(ctx context.Context) bool {
	t.mu.Lock()
	t.applied, t.hinted = t.hinted, make(map[string]*Run)
	changed := t.applied
	t.mu.Unlock()
	for id, run := range changed {
		if run == nil {
			t.read(ctx, id)
			continue
		}
		t.apply(id, run)
	}
	t.mu.Lock()
	t.applied = nil
	t.mu.Unlock()
	return len(changed) > 0
}

// read applies the stored run. After an error the next scan finds the changes.
func (t *inboxTracker) read(ctx context.Context, id string) {
	run, err := t.client.proc.Store.Run(ctx, id)
	switch {
	case err == nil:
		t.apply(id, &run)
	case errors.Is(err, store.ErrNotFound):
		t.apply(id, nil)
	default:
		t.scanSoon()
	}
}

func (t *inboxTracker) scanSoon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rescan = true
}

func (t *inboxTracker) scan(ctx context.Context) error {
	t.mu.Lock()
	t.rescan = false
	t.mu.Unlock()
	found := make(map[string]bool)
	q := store.WaitingQuery{Query: store.Query{Limit: store.MaxBatch}}
	for {
		page, err := t.client.proc.Store.Waiting(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Runs {
			found[page.Runs[i].ID] = true
			t.apply(page.Runs[i].ID, &page.Runs[i])
		}
		if q.After = page.Next; page.Next == "" {
			break
		}
	}
	for id := range t.waiting { // only this goroutine writes it
		if !found[id] {
			t.read(ctx, id) // it no longer waits, or waits since the page was read
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ready {
		t.ready = true
		for w := range t.watches {
			w.requestReload()
		}
	}
	return nil
}

// apply stores a run's current record, nil for none, and notifies the watches of a change.
func (t *inboxTracker) apply(id string, run *Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.waiting[id]
	waits := run != nil && len(run.Open) > 0
	switch {
	case before == nil && !waits:
		return
	case before != nil && run != nil && run.CreatedAt.Equal(before.CreatedAt) && run.Version <= before.Version:
		return // an old state
	case waits:
		t.waiting[id] = inboxPart(run)
	default:
		delete(t.waiting, id)
	}
	t.noteReveal(id, t.waiting[id])
	if !t.ready {
		return // then the watches list everything
	}
	for w := range t.watches {
		w.noteChange(id, before, run)
	}
}

// inboxPart returns the parts of a run that decide about inboxes.
func inboxPart(r *Run) *Run {
	part := &Run{ID: r.ID, Version: r.Version, CreatedAt: r.CreatedAt, State: r.State, Pool: r.Pool, Key: r.Key,
		Labels: r.Labels, Deadline: r.Deadline}
	part.Open = make([]Question, len(r.Open))
	for i := range r.Open {
		q := &r.Open[i]
		part.Open[i] = Question{ID: q.ID, Kind: q.Kind, AskedAt: q.AskedAt, To: q.To, Votes: q.Votes,
			HiddenFor: q.HiddenFor}
	}
	return part
}
