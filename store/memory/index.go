package memory

import (
	"cmp"
	"strings"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/internal/asked"
	columns "github.com/interlude-go/interlude/store/internal/entry"
)

// moment orders runs by a time.
type moment struct {
	at int64 // microseconds
	id string
}

func compareMoments(a, b moment) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id))
}

// place is the position of a ready run: by pool, engine, priority (higher first), key, age and id.
type place struct {
	pool     string
	engine   string
	priority int
	key      string
	moment
}

func comparePlaces(a, b place) int {
	return cmp.Or(strings.Compare(a.pool, b.pool), strings.Compare(a.engine, b.engine), compareInQueue(a, b))
}

// compareInQueue orders the ready runs of one pool, across engines.
func compareInQueue(a, b place) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.key, b.key), compareMoments(a.moment,
		b.moment))
}

// ownedRun orders runs by owner, runs with a slot first.
type ownedRun struct {
	owner  string
	parked bool
	moment // the time at which a sticky run was queued for its next turn; zero otherwise
}

func compareOwned(a, b ownedRun) int {
	return cmp.Or(strings.Compare(a.owner, b.owner), cmp.Compare(bit(a.parked), bit(b.parked)), compareMoments(a.moment,
		b.moment))
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

type poolKey struct{ pool, key string }

// index orders and counts all records. When a record changes, the store removes the old one from
// the index and adds the new one, except for created and forks, because a run's creation time and
// source never change.
type index struct {
	created   *ordered[moment]
	anyone    *ordered[moment] // waiting with a question for everybody, by asked_at
	addressed *ordered[moment] // the others that wait, by asked_at
	deadlines *ordered[moment]
	delayed   *ordered[moment] // queued, held back by not-before
	ready     *ordered[place]
	sticky    *ordered[ownedRun] // queued with a slot
	owned     *ordered[ownedRun]
	finished  *ordered[moment]
	held      *ordered[moment] // by creation
	heldUntil *ordered[moment] // held runs with an automatic retry, by its time
	awaiting  int              // queued, waiting for their children
	slots     map[string]int   // occupied slots by pool
	keySlots  map[poolKey]int  // occupied slots by pool and key
	isDelayed map[string]bool
	asked     map[string]*ordered[moment] // the runs that ask each principal (package asked), by asked_at
	forks     map[string]*ordered[moment] // the forks of each run that has any, by creation
	children  map[string]*ordered[moment] // the children of each run that has any, likewise
}

func newIndex() index {
	return index{
		created: newOrdered(compareMoments), anyone: newOrdered(compareMoments), deadlines: newOrdered(compareMoments),
		addressed: newOrdered(compareMoments), asked: make(map[string]*ordered[moment]),
		delayed: newOrdered(compareMoments), ready: newOrdered(comparePlaces), sticky: newOrdered(compareOwned),
		owned: newOrdered(compareOwned), finished: newOrdered(compareMoments),
		held: newOrdered(compareMoments), heldUntil: newOrdered(compareMoments), slots: make(map[string]int),
		keySlots: make(map[poolKey]int), isDelayed: make(map[string]bool), forks: make(map[string]*ordered[moment]),
		children: make(map[string]*ordered[moment]),
	}
}

func at(t time.Time, id string) moment { return moment{t.UnixMicro(), id} }

func placeOf(r *store.Run) place {
	return place{r.Pool, columns.EngineColumn(r), r.Priority, r.Key, at(r.QueuedAt, r.ID)}
}

// listed returns the smallest list, in order of creation, with all runs that the query can match.
func (x *index) listed(q store.Query) *ordered[moment] {
	switch {
	case q.ForkedFrom != "" && x.forks[q.ForkedFrom] == nil:
		return newOrdered(compareMoments)
	case q.ForkedFrom != "":
		return x.forks[q.ForkedFrom]
	case q.Parent != "" && x.children[q.Parent] == nil:
		return newOrdered(compareMoments)
	case q.Parent != "":
		return x.children[q.Parent]
	case q.Held:
		return x.held
	}
	return x.created
}

func (x *index) add(r *store.Run) {
	if r.Slot {
		x.slots[r.Pool]++
		x.keySlots[poolKey{r.Pool, r.Key}]++
	}
	if r.Owner != "" {
		x.owned.add(ownedRun{r.Owner, !r.Slot, moment{0, r.ID}})
	}
	if r.Held() {
		x.held.add(at(r.CreatedAt, r.ID))
		if !r.Block.Until.IsZero() {
			x.heldUntil.add(at(r.Block.Until, r.ID))
		}
	}
	if due := r.DueAt(); !due.IsZero() {
		x.deadlines.add(at(due, r.ID))
	}
	switch {
	case r.State == fsm.StateQueued && r.AwaitsChildren():
		x.awaiting++
	case r.State == fsm.StateQueued && r.Held():
	case r.State == fsm.StateQueued && r.Slot:
		x.sticky.add(ownedRun{r.Owner, false, at(r.QueuedAt, r.ID)})
	case r.State == fsm.StateQueued && r.NotBefore.After(r.UpdatedAt):
		x.delayed.add(at(r.NotBefore, r.ID))
		x.isDelayed[r.ID] = true
	case r.State == fsm.StateQueued:
		x.ready.add(placeOf(r))
	case r.State == fsm.StateWaitingUser:
		x.addWaiting(r)
	case r.State.Terminal():
		x.finished.add(at(r.FinishedAt, r.ID))
	}
}

func (x *index) remove(r *store.Run) {
	if r.Slot {
		decrement(x.slots, r.Pool)
		decrement(x.keySlots, poolKey{r.Pool, r.Key})
	}
	if r.Owner != "" {
		x.owned.remove(ownedRun{r.Owner, !r.Slot, moment{0, r.ID}})
	}
	if r.Held() {
		x.held.remove(at(r.CreatedAt, r.ID))
		if !r.Block.Until.IsZero() {
			x.heldUntil.remove(at(r.Block.Until, r.ID))
		}
	}
	if due := r.DueAt(); !due.IsZero() {
		x.deadlines.remove(at(due, r.ID))
	}
	switch {
	case r.State == fsm.StateQueued && r.AwaitsChildren():
		x.awaiting--
	case r.State == fsm.StateQueued && r.Held():
	case r.State == fsm.StateQueued && r.Slot:
		x.sticky.remove(ownedRun{r.Owner, false, at(r.QueuedAt, r.ID)})
	case r.State == fsm.StateQueued && x.isDelayed[r.ID]:
		x.delayed.remove(at(r.NotBefore, r.ID))
		delete(x.isDelayed, r.ID)
	case r.State == fsm.StateQueued:
		x.ready.remove(placeOf(r))
	case r.State == fsm.StateWaitingUser:
		x.removeWaiting(r)
	case r.State.Terminal():
		x.finished.remove(at(r.FinishedAt, r.ID))
	}
}

func (x *index) waiting(r *store.Run) *ordered[moment] {
	if asked.Anyone(r) {
		return x.anyone
	}
	return x.addressed
}

func (x *index) addWaiting(r *store.Run) {
	m := at(r.Open[0].AskedAt, r.ID)
	x.waiting(r).add(m)
	for _, principal := range asked.Principals(r) {
		if x.asked[principal] == nil {
			x.asked[principal] = newOrdered(compareMoments)
		}
		x.asked[principal].add(m)
	}
}

func (x *index) removeWaiting(r *store.Run) {
	m := at(r.Open[0].AskedAt, r.ID)
	x.waiting(r).remove(m)
	for _, principal := range asked.Principals(r) {
		runs := x.asked[principal]
		if runs.remove(m); runs.size == 0 {
			delete(x.asked, principal)
		}
	}
}

// ranges returns the lists that together have all runs that the query can match.
func (x *index) ranges(q store.WaitingQuery) []*ordered[moment] {
	if q.For == nil {
		return []*ordered[moment]{x.anyone, x.addressed}
	}
	all := []*ordered[moment]{x.anyone}
	for _, principal := range asked.Of(q.For) {
		if runs := x.asked[principal]; runs != nil {
			all = append(all, runs)
		}
	}
	return all
}

func (x *index) addNew(r *store.Run) {
	x.created.add(at(r.CreatedAt, r.ID))
	if f := r.ForkedFrom; f != nil {
		addUnder(x.forks, f.RunID, r)
	}
	if parent := r.Parent(); parent != "" {
		addUnder(x.children, parent, r)
	}
}

func (x *index) removePruned(r *store.Run) {
	x.created.remove(at(r.CreatedAt, r.ID))
	if f := r.ForkedFrom; f != nil {
		removeUnder(x.forks, f.RunID, r)
	}
	if parent := r.Parent(); parent != "" {
		removeUnder(x.children, parent, r)
	}
	x.remove(r)
}

func addUnder(lists map[string]*ordered[moment], id string, r *store.Run) {
	if lists[id] == nil {
		lists[id] = newOrdered(compareMoments)
	}
	lists[id].add(at(r.CreatedAt, r.ID))
}

func removeUnder(lists map[string]*ordered[moment], id string, r *store.Run) {
	list := lists[id]
	list.remove(at(r.CreatedAt, r.ID))
	if _, left := list.first(start); !left {
		delete(lists, id)
	}
}

func decrement[K comparable](counts map[K]int, k K) {
	if counts[k]--; counts[k] == 0 {
		delete(counts, k)
	}
}

// beforeMoment returns the position just before the moment, or just after it, for from and back.
func beforeMoment(m moment, after bool) func(moment) bool {
	return func(o moment) bool {
		c := compareMoments(o, m)
		return c < 0 || (after && c == 0)
	}
}

// start is the position before the first item.
func start(moment) bool { return false }
