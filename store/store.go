package store

import (
	"context"
	"io"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
)

// Store keeps runs. Everything that a transition changes is one Commit; a Commit is stored whole or
// not at all.
//
// An implementation must be safe for concurrent use by any number of goroutines, and, when it is
// durable, by several processes. When a method returns without error, its effect is durable to the
// level that the store was opened with, and every later call, in any process, sees it. The records
// and slices that it takes are the caller's: it does not keep or change them. Those that it returns
// are the caller's too.
//
// Errors: the sentinels of this package mean that nothing was written. Any other error of a writing
// method, a canceled context included, leaves the outcome unknown: the write may or may not have
// been made, whole; the caller loads the run to find out.
//
// Time is passed in as now, in the caller's clock. A store with a clock of its own (a database
// server's) judges leases by that clock instead, and is a Timekeeper. Times are kept to the
// microsecond, in UTC.
//
// A store may also be a Watcher, a Meter, a RecentReader, a Local or a Timekeeper. These depend on
// where it keeps its data, so that not every store can be one.
//
// storetest.Run proves an implementation.
type Store interface {
	Writer
	Reader
	Confirmer
	Registry
	FeedStore
	Surveyor
	Identified
	io.Closer
}

// Writer changes runs.
type Writer interface {
	// Commit stores a batch. Each entry succeeds or fails by itself; the errors are in the order of
	// the batch, nil for an entry that was stored. Entries are applied in order, so a later one may
	// follow up on an earlier one. Commits of concurrent callers may share one flush.
	//
	// Per entry: ErrExists (create, the id is taken), ErrNotFound, ErrStaleEpoch (checked before
	// the version), ErrConflict (the version is not Expect, or the node that parked the run has
	// gone and the entry was made on an earlier view of it: see Run.MissesDeparture),
	// ErrUnknownPool (create), ErrInvalid (the entry contradicts itself or the record).
	Commit(ctx context.Context, batch []Commit) []error

	// Claim picks up to Max ready runs, gives each a slot, an owner and the next epoch, and stores
	// the commit that req.Start makes of it, all in one step. See ClaimRequest. ErrStaleEpoch when
	// the node is not registered. It returns no run and no error when nothing is ready or no slot
	// is free. Its cost does not depend on how many runs are queued, parked or finished.
	Claim(ctx context.Context, req ClaimRequest) ([]Claimed, error)

	// Prune deletes up to limit terminal runs that finished before the given time, oldest first,
	// with all their data, and returns their number. It passes over those with a Family.Due.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// Reader reads runs. What one call returns is of one moment.
//
// A parked run counts as recovered once the node that parked it has gone; nothing is written for it.
// Every method that returns runs returns it as Run.ShowDeparture does. The next commit of
// the run is based on what was read, and so stores the recovered record. See Departure.
type Reader interface {
	RunReader
	Lister
}

// RunReader reads one run. Each method returns ErrNotFound for an unknown one.
type RunReader interface {
	// Run returns the record.
	Run(ctx context.Context, id string) (Run, error)
	// Spec returns the specification stored at creation.
	Spec(ctx context.Context, id string) ([]byte, error)
	// Events returns up to limit events of a run with Seq > after, in order, without a gap. It
	// returns fewer events than exist only if the returned ones have more than MinPage bytes
	// together. An empty result means that there are none yet.
	Events(ctx context.Context, id string, after uint64, limit int) ([]Event, error)
	// History returns a page of the settled interactions of a run in the order of their numbers, and
	// the run that they belong to, of one moment. The page has fewer than exist within the limit
	// only if the returned ones have more than MinPage bytes together. Interactions that were asked
	// together may be settled in any order, so that numbers may be missing that are open.
	History(ctx context.Context, id string, q HistoryQuery) (Run, []interaction.Record, error)
	// Settled returns the settled interaction whose accepted reply carried the key, or ErrNotFound.
	Settled(ctx context.Context, id, key string) (interaction.Record, error)
	// Voted returns the settled interaction of which a vote carried the key, or ErrNotFound. It keeps
	// no more than one interaction in memory.
	Voted(ctx context.Context, id, key string) (interaction.Record, error)
	// Interaction returns the settled interaction of that number, from 1, without reading the
	// others. ErrNotFound when the run has not settled such a one.
	Interaction(ctx context.Context, id string, number int) (interaction.Record, error)
	// Usage returns the usage of those turns of the run that have any, ordered by attempt.
	Usage(ctx context.Context, id string) ([]TurnUsage, error)
	// Journal returns the entries of the run in the order in which they were written. A store keeps
	// each entry once and never rewrites it, so that the cost of a commit does not grow with the
	// journal of its run.
	Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error)
}

// Lister finds runs.
type Lister interface {
	// Runs lists runs in the order of their creation.
	Runs(ctx context.Context, q Query) (Page, error)
	// Waiting lists runs in waiting_user, those with the oldest questions first. Unlike with Runs,
	// a page may have fewer runs than the limit, or none, although others follow; its Next says so.
	// The cost of a page does not grow with the number of runs that wait for other people.
	Waiting(ctx context.Context, q WaitingQuery) (Page, error)
	// Due returns up to limit runs for which something is due at or before now. First come the runs
	// in waiting_user whose deadline is due and, as if it were a deadline, the runs whose
	// Family.Due is; the earliest of these times comes first. After them, within the limit, come
	// the queued runs that are held until a time at or before now, the earliest first.
	//
	// Due also returns the time at which the next thing falls due after now: a deadline, a
	// Family.Due, or a queued run's not-before time. That time is zero if there is none. It does
	// not include the times at which held runs are tried again, so callers must call Due again from
	// time to time.
	Due(ctx context.Context, now time.Time, limit int) (due []Run, next time.Time, err error)
	// Orphans returns up to limit runs that hold a slot and whose owner is not a registered node.
	// It skips the first skip of them, which the caller is already settling. A parked run without a
	// slot is never an orphan, because it needs no recovery.
	Orphans(ctx context.Context, skip, limit int) ([]Run, error)
}

// Confirmer makes sure that what was read is durable, so that a caller can acknowledge it.
//
// A read may show a commit that is not durable yet. On a replicated store, this is a commit that
// only the primary has, because the wait for the standby was canceled; a failover undoes it.
// Therefore, if you acknowledge something because of a read, and not because your own commit was
// acknowledged, you must read through Confirm.
//
// It is not optional, because a wrapper without it would lose replies silently.
type Confirmer interface {
	// Confirm calls read with a view of the store, and returns nil only when everything that read
	// was shown is as durable as what Commit acknowledges. It makes durable what the same server
	// has shown: a failover between the two is an error. The view is for read alone, for one
	// goroutine, and until read returns. An error of read is returned as it is, and nothing is
	// confirmed then. After any other error nothing that read saw may be acknowledged; the caller
	// may try again.
	//
	// A store whose reads show only durable data just calls read.
	Confirm(ctx context.Context, read func(Reader) error) error
}

// Registry keeps the nodes that execute runs, and the pools.
//
// A node holds a lease on all runs that it owns. It renews it in one write, however many runs it
// owns. Once the node has been expired, each of its writes gets ErrStaleEpoch. The process can join
// again only under another id; no id is ever used again.
type Registry interface {
	// Join registers a node with a lease that ends at now + n.Lease. ErrExists when a node with
	// this id is registered.
	Join(ctx context.Context, n Node, now time.Time) error
	// Renew extends the node's lease from now and returns the runs that it owns and that hold a
	// slot (not the parked ones, of which there may be a million), so that a worker of a run that
	// is not listed knows that it lost it. What it lists is durable, as if it was read through
	// Confirm. ErrStaleEpoch when the node is not registered (any more).
	Renew(ctx context.Context, id string, now time.Time) ([]Hold, error)
	// Expire removes the nodes whose lease ended before now and those that are named, and returns
	// them; of many callers, one removes a node. The runs that hold a slot and are owned by them
	// are orphans from then on.
	//
	// In the same step it updates the departures. Each unregistered node that a parked run names
	// gets a departure at now, unless it has one, so that its parked runs are recovered. Departures
	// of nodes that no parked run names any more are removed. Its cost does not depend on how many
	// runs are parked. While commits of a node's parked runs are under way, the store may make its
	// departure later, even after Expire has returned. Until then, readers see these runs as ones
	// whose node has not gone. A store with a clock of its own judges leases by that, but a
	// departure is at the caller's now, as the times of runs are.
	Expire(ctx context.Context, now time.Time, ids ...string) ([]Node, error)
	// Departures lists the departures that Expire has stored, by the id of the node. A few may
	// belong to nodes that no parked run names any more.
	Departures(ctx context.Context) ([]Departure, error)
	// Nodes lists the registered nodes by id.
	Nodes(ctx context.Context) ([]Node, error)
	// SetPool creates or changes a pool, effective with the next claim on every node. Lowering a
	// capacity takes no slot away. ErrInvalid for a pool that fails slots.Pool.Validate.
	SetPool(ctx context.Context, p slots.Pool) error
	// Pools lists the pools by name, with what they use.
	Pools(ctx context.Context) ([]PoolUse, error)
}

// Watcher is implemented by a store that can give hints of commits, so that callers need not wait
// for the next poll. Hints may be lost, doubled or late; nothing may depend on them.
type Watcher interface {
	// Watch calls fn after each commit that the store learns of. fn must not block and must not
	// call the store. It is not called after stop returned.
	Watch(fn func(Hint)) (stop func())
}

// Hint says that a run changed. The zero RunID means "anything may have changed".
type Hint struct {
	RunID string
	State fsm.State
	// Seq is the number of the run's last event. Events, which may be empty, are the events up to
	// it. They are stored already, and shared by all callers of Watch, who must not change them.
	Seq    uint64
	Events []Event
	// Run, which may be nil, is the record as it was stored; it is shared like Events.
	Run *Run
}

// Meter is implemented by a store that counts what it writes.
type Meter interface {
	// Counters returns the counts since the store was opened by this process.
	Counters() Counters
}

// Identified tells a store's data from the data of every other store.
type Identified interface {
	// Identity returns a random text of at most 64 letters, digits and hyphens. It is made once,
	// together with the store's data, and kept with them: it is the same in every process that
	// opens the store and after every restart, and another one for every other store. A copy of the
	// data (a restored backup, a cloned database) keeps the identity of the original. Whoever marks
	// things outside the store as belonging to one of its runs, a folder for instance, marks them
	// with the identity and the run's id: two stores may have runs of the same id.
	Identity(ctx context.Context) (string, error)
}

// RecentReader is implemented by a store that keeps the records that it wrote or read last in
// memory.
type RecentReader interface {
	// Recent returns the run as this store object wrote or read it last, without reading the store;
	// false if it has no such record. The record may be old: others may have changed the run since,
	// the transaction that wrote it may fail, and the record does not show a departure. So callers
	// may use it for one thing: to base a Commit on it, which compares the version. A caller that
	// would refuse something because of it must call Run first.
	Recent(id string) (Run, bool)
}

// Counters are what one store object has made durable since it was opened. (A Survey counts the
// runs that a store keeps.)
type Counters struct {
	Commits uint64 // entries of Commit and runs of Claim
	Flushes uint64 // durable transactions that they shared; 0 for a store that is not durable
	Rows    uint64 // rows, or what the store has instead, that were written
	Bytes   uint64 // of records, specs, events and settled interactions in them
}

// Commit is everything that one transition, or one report of a running turn, changes.
type Commit struct {
	// Run is the record as it shall stand. Run.Version must be Expect+1.
	Run Run
	// Expect is the version that the decision was made on; 0 creates the run.
	Expect uint64
	// Fence, when set, requires that the stored run is owned by this node under this epoch and that
	// the node is registered.
	Fence *Fence
	// Spec is the encoded specification; set exactly when the run is created.
	Spec []byte
	// Events are the new events; their Seq go on from the stored ones without a gap and end at
	// Run.Seq.
	Events []Event
	// Settled are the interactions that this commit settles, in the order of their numbers: of a
	// run with a single question at most one. At most one of them has an idempotency key.
	Settled []interaction.Record
	// Usage is what the turn has used that this commit ends; nil when its engine reported nothing.
	// See RunReader.Usage.
	Usage *Usage
	// Journal are the entries that the turn adds to the journal of its run, which Run.Journal
	// counts. See RunReader.Journal.
	Journal []interaction.JournalEntry

	bodies []byte // of the events that AddEvent has added, one after the other
}

// usualBodies holds the events of any usual commit, in bytes.
const usualBodies = 512

// AddEvent adds an event to Events. The function encode appends the event's body to what it is
// given, as append does.
func (c *Commit) AddEvent(seq uint64, encode func([]byte) ([]byte, error)) error {
	if c.bodies == nil {
		c.bodies = make([]byte, 0, usualBodies)
	}
	from := len(c.bodies)
	bodies, err := encode(c.bodies)
	if err != nil {
		return err
	}
	c.bodies = bodies
	c.Events = append(c.Events, Event{Seq: seq, Body: bodies[from:len(bodies):len(bodies)]})
	return nil
}

// Reset empties the commit, so that it can be used for another one. The memory of its events is
// used again: nobody may have kept them.
func (c *Commit) Reset() {
	*c = Commit{Events: c.Events[:0], bodies: c.bodies[:0]}
}

// Fence identifies a worker's right to write.
type Fence struct {
	Node  string
	Epoch uint64
}

// ClaimRequest asks for runs to execute.
//
// The claim picks first the queued runs that the node owns and that hold a slot already, oldest
// first: each is the next turn of a sticky run, and takes no new capacity. Then it picks in each
// pool, as slots.Select says, from the queued runs whose NotBefore is at or before Now. A held run
// is never picked.
type ClaimRequest struct {
	Node string
	Now  time.Time
	Max  int // at least 1
	// Engines are the engines that the node has, named as in Node.Engines: only runs of these are
	// picked, whatever else is queued. A claim's cost does not depend on how many runs of
	// other engines are queued. Nil: runs of any engine, suspects included. Queued runs that hold a slot of the node
	// are picked in any case: their process is here.
	Engines []string
	// Suspects asks for suspects of these engines, and for no other run, not even for those that
	// hold a slot of the node; it needs Engines. A claim
	// that names its engines and does not set Suspects picks none (Run.Suspect): whoever executes
	// one keeps it apart from other turns.
	Suspects bool
	// Hinted says that a hint reported a ready run, so that a store need not check whether there is
	// one before it begins its transaction. Most claims without a hint find nothing.
	Hinted bool
	// Drained, unless it is nil, is set to true by a claim that leaves no ready run of these
	// engines behind: until a hint reports a queued run, or the time of a NotBefore comes, further
	// claims find nothing, whatever slots become free. A store that does not know leaves it as it
	// is.
	Drained *bool
	// Start turns a picked run into its commit. It is given the record with Slot, Owner and Epoch
	// already set and the specification; it is pure, fast, and may be called again for the same run
	// when the store repeats its transaction. The record and the specification share memory with
	// the store's: Start must not change what they refer to. When it fails, that run is left as it
	// was and the error is joined into Claim's. The next claims may prefer other runs, so that it
	// does not take the only free slot, or place, of each of them.
	Start func(r Run, spec []byte) (Commit, error)
}

// Claimed is a run that a claim started, as it was committed.
type Claimed struct {
	Run  Run
	Spec []byte
}

// Node is a process (one Serve call of it) that executes runs.
type Node struct {
	ID string
	// Identity lets another process on the same machine tell whether this one is dead. Opaque to
	// the store.
	Identity string
	// Lease is the length of the lease.
	Lease time.Duration
	// Engines are the names of the engines that it has, in byte order, each once: 1 to
	// MaxEngines names of 1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit. Nil: it
	// says nothing of them, and is counted for any.
	Engines []string
	// Until is when the lease ends, as the store judges it. Set by the store.
	Until time.Time
}

// Departure is what is left of a node that has gone: its id, which is never used again, and when it
// was removed from the registry. It is made once and never changes, so that everybody reads the
// same RecoveredAt in the runs that the node parked.
type Departure struct {
	ID string
	At time.Time
}

// Hold is one run that a node owns and that holds a slot.
type Hold struct {
	RunID string
	Epoch uint64
	State fsm.State
}

// PoolUse is a pool and the slots that are held in it.
type PoolUse struct {
	slots.Pool
	Held int
}

// Event is one encoded FCMP event.
type Event struct {
	Seq uint64
	// Body is the JSON envelope, without a line break.
	Body []byte
}

// Query filters and pages a listing. Zero fields do not filter.
type Query struct {
	// States are those that a run may be in, in any order; at most 1000 that differ.
	States []fsm.State
	Pool   string
	Key    string
	// Held asks for held runs alone (Run.Held). The cost of such a listing grows with their number,
	// however many other runs there are.
	Held bool
	// ForkedFrom asks for the forks of the run with this id alone (Run.ForkedFrom). The cost of
	// such a listing grows with their number.
	ForkedFrom string
	// Parent asks for the children of the run with this id alone (Run.Family). The cost of such a
	// listing grows with their number.
	Parent string
	// Labels must all be present with these values; at most 1000. A store may have an index of
	// them; SQLite and PostgreSQL do.
	Labels map[string]string
	// Newest reverses the order.
	Newest bool
	// After is the Next of the page before; empty starts at the beginning.
	After string
	// Limit is the most runs to return, from 1 to 1000; 0 means 100.
	Limit int
}

// WaitingQuery filters and pages the runs that wait for people. Zero fields do not filter.
type WaitingQuery struct {
	Query
	// For asks for the runs alone that have an open question which this actor may answer
	// (interaction.Audience.Admits); at most 1000 groups. Nil asks for all.
	For *interaction.Actor
	// DueBefore asks for the runs alone whose deadline is before this time.
	DueBefore time.Time
}

// Page is one page of a listing. Next is empty at its end.
type Page struct {
	Runs []Run
	Next string
}
