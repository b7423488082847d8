package store

import (
	"context"
	"io"
	"time"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
)

// Store keeps runs. Everything that a transition changes is one Commit, stored atomically.
//
// An implementation must be safe for concurrent use by goroutines and, if durable, by several
// processes. When a method returns without error, its effect is durable to the level of the open
// store, and every later call, in any process, sees it. The caller owns the records and slices that
// it passes and receives: the store does not retain or change them.
//
// Errors: the sentinels of this package mean that nothing was written. After any other error of a
// writing method, including a canceled context, all or nothing was written; the caller loads the
// run to find out.
//
// Time is passed in as now, from the caller's clock. A store with its own clock (a database
// server's) judges leases by that clock instead, and is a Timekeeper. Times are in UTC, to the
// microsecond.
//
// A store may also be a Watcher, a Meter, a RecentReader, a Local or a Timekeeper, depending on
// where it keeps its data.
//
// storetest.Run verifies an implementation.
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
	// Commit stores a batch. Entries are applied in order, each independently; the errors are in
	// the order of the batch, nil for a stored entry. Commits of concurrent callers may share one
	// flush.
	//
	// Per entry: ErrExists (create, the id is taken), ErrNotFound, ErrStaleEpoch (checked before
	// the version), ErrConflict (the version is not Expect; or Run.Incarnation is not the store's; or
	// the node that parked the run has gone and the entry was made on an earlier view of it: see
	// Run.MissesDeparture),
	// ErrUnknownPool (create), ErrInvalid (the entry contradicts itself or the record).
	Commit(ctx context.Context, batch []Commit) []error

	// Claim picks up to Max ready runs, gives each a slot, an owner and the next epoch, and stores
	// the commit returned by req.Start, in one step. See ClaimRequest. ErrStaleEpoch if the node is
	// not registered. It returns nothing if no run is ready or no slot is free. Its cost does not
	// depend on the number of queued, parked or finished runs.
	Claim(ctx context.Context, req ClaimRequest) ([]Claimed, error)

	// Prune deletes up to limit terminal runs that finished before the given time, oldest first,
	// with all their data, and returns their number. It skips runs that are not Prunable.
	Prune(ctx context.Context, before time.Time, limit int) (int, error)
}

// Reader reads runs. Each call returns a consistent snapshot.
//
// A parked run counts as recovered once the node that parked it has gone, without a write: every
// method that returns runs applies Run.ShowDeparture, and the run's next commit stores the
// recovered record. See Departure.
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
	// Events returns up to limit events with Seq > after, in order, without a gap; fewer than exist
	// only if they have more than MinPage bytes. It is empty if there are none yet.
	Events(ctx context.Context, id string, after uint64, limit int) ([]Event, error)
	// History returns a page of a run's settled interactions by number, and the run at the same
	// moment. The page is shorter than its limit and the rest allow only if it has more than
	// MinPage bytes. Open interactions may leave gaps in the numbers.
	History(ctx context.Context, id string, q HistoryQuery) (Run, []interaction.Record, error)
	// Settled returns the settled interaction whose accepted reply carried the key, or ErrNotFound.
	Settled(ctx context.Context, id, key string) (interaction.Record, error)
	// Voted returns the settled interaction with a vote that carried the key, or ErrNotFound. It
	// keeps at most one interaction in memory.
	Voted(ctx context.Context, id, key string) (interaction.Record, error)
	// Interaction returns the settled interaction with this number, from 1, without reading others,
	// or ErrNotFound.
	Interaction(ctx context.Context, id string, number int) (interaction.Record, error)
	// Usage returns the usage of the run's turns that have any, by attempt.
	Usage(ctx context.Context, id string) ([]TurnUsage, error)
	// Journal returns the run's entries in the order of their writing. Entries are stored once and
	// never rewritten, so a commit's cost does not grow with the journal.
	Journal(ctx context.Context, id string) ([]interaction.JournalEntry, error)
}

// Lister finds runs.
type Lister interface {
	// Runs lists runs in order of creation. A page is shorter than the limit only at the end or if
	// its records exceed MaxPage bytes; its Next says whether others follow.
	Runs(ctx context.Context, q Query) (Page, error)
	// Waiting lists runs in waiting_user, oldest question first. A page may have few runs, or none,
	// before the end; its Next decides. Its cost does not grow with the number of runs that wait
	// for other people.
	Waiting(ctx context.Context, q WaitingQuery) (Page, error)
	// Due returns up to limit runs with work due at or before now: first, earliest first, runs in
	// waiting_user with a due deadline and runs with a due Family.Due; then queued runs whose hold
	// ends, earliest first. It returns fewer only if their records exceed MaxPage bytes.
	//
	// next is the next time after now at which work falls due: a deadline, a Family.Due, or a
	// queued run's not-before time; zero without any. It excludes retries of held runs, so callers
	// must also call Due at intervals.
	Due(ctx context.Context, now time.Time, limit int) (due []Run, next time.Time, err error)
	// Orphans returns up to limit runs that hold a slot and whose owner is not registered, after
	// the first skip, which the caller is already settling. A parked run without a slot needs no
	// recovery and is never an orphan. It returns fewer only if their records exceed MaxPage bytes.
	Orphans(ctx context.Context, skip, limit int) ([]Run, error)
}

// Confirmer ensures that data is durable before a caller acknowledges it.
//
// A read may return a commit that is not durable yet: on a replicated store, a commit that only the
// primary has, because the wait for the standby was canceled. A failover undoes it. So read through
// Confirm to acknowledge something that you only read.
//
// It is mandatory, since a wrapper without it would lose replies silently.
type Confirmer interface {
	// Confirm calls read with a view of the store, and returns nil only once everything shown is as
	// durable as an acknowledged Commit, on the server that has shown it: a failover in between is
	// an error. Only read may use the view, in one goroutine, until it returns. An error of read is
	// returned unchanged, with nothing confirmed. After any other error nothing that read saw may
	// be acknowledged; the caller may retry.
	//
	// A store whose reads return only durable data just calls read.
	Confirm(ctx context.Context, read func(Reader) error) error
}

// Registry keeps the nodes that execute runs, and the pools.
//
// A node has one lease for all its runs, renewed in one write. Each write of an expired node gets
// ErrStaleEpoch. Its process must join under another id; ids are never reused.
type Registry interface {
	// Join registers a node with a lease that ends at now + n.Lease. ErrExists when a node with
	// this id is registered.
	Join(ctx context.Context, n Node, now time.Time) error
	// Renew extends the node's lease from now and returns its runs that hold a slot (without parked
	// runs, of which there may be a million), so that a worker notices the loss of its run. The
	// list is durable, as if read through Confirm. ErrStaleEpoch if the node is not registered.
	Renew(ctx context.Context, id string, now time.Time) ([]OwnedRun, error)
	// Expire removes the named nodes and all with an expired lease, and returns them; of concurrent
	// callers, one removes a node. Their runs that hold a slot become orphans.
	//
	// The same step updates the departures: each unregistered owner of parked runs gets one at now,
	// unless it has one, so that its parked runs are recovered; departures without parked runs are
	// removed. The cost does not depend on the number of parked runs. While commits of a node's
	// parked runs are in progress, the store may add its departure later, even after Expire has
	// returned; until then readers see these runs unrecovered. A store with a server clock judges
	// leases by that clock, but uses the caller's now for departures, like the times of runs.
	Expire(ctx context.Context, now time.Time, ids ...string) ([]Node, error)
	// Departures lists the departures by node id. A few may no longer have parked runs.
	Departures(ctx context.Context) ([]Departure, error)
	// Nodes lists the registered nodes by id.
	Nodes(ctx context.Context) ([]Node, error)
	// SetPool creates or changes a pool, effective with the next claim on every node. Lowering a
	// capacity takes no slot away. ErrInvalid for a pool that fails slots.Pool.Validate.
	SetPool(ctx context.Context, p slots.Pool) error
	// ChangePool is SetPool if the stored pool equals was, or if there is no such pool and was is
	// zero. ErrConflict if not: of two concurrent changes of the same pool, one wins.
	ChangePool(ctx context.Context, was, p slots.Pool) error
	// Pools lists the pools by name, with their usage.
	Pools(ctx context.Context) ([]PoolUse, error)
}

// Watcher is implemented by a store that gives hints of commits, which save waiting for the next
// poll. Hints may be lost, doubled or late; nothing may depend on them.
type Watcher interface {
	// Watch calls fn after each commit that the store learns of. fn must not block or call the
	// store, and is not called after stop returned.
	Watch(fn func(Hint)) (stop func())
}

// Announcer is implemented by a store that announces its commits to other processes. A claim that
// finds nothing costs the store a transaction, so the process that commits work or frees a slot
// claims by itself if it can.
type Announcer interface {
	// Claims registers fn, which is called with each hint of this store object's commits, after the
	// watchers: it returns whether this process makes the claim that the commit calls for. The
	// announcement then says so (Hint.Claimed). fn must not block and must not call the store. It
	// is not called after stop returned.
	Claims(fn func(Hint) bool) (stop func())
	// Announce sends the other processes a hint with this state and without a run, if this process
	// makes no claim although fn returned true: runs are ready (queued), or slots are free (any
	// other state).
	Announce(state fsm.State)
}

// Hint reports that a run changed. The zero RunID means "anything may have changed"; with a state,
// it means that claims may find something.
type Hint struct {
	RunID string
	State fsm.State
	// Seq is the number of the run's last event. Events, possibly empty, are the events up to it:
	// stored, shared by all watchers, and read-only.
	Seq    uint64
	Events []Event
	// Run, which may be nil, is the record as it was stored; it is shared like Events. An Announcer
	// sets it exactly in the hints of this store object's commits.
	Run *Run
	// Claimed reports that the process that made the commit also makes the claim that it calls for.
	Claimed bool
}

// Meter is implemented by a store that counts its writes.
type Meter interface {
	Counters() Counters
}

// Identified distinguishes a store's data from any other store's.
type Identified interface {
	// Identity returns a random text of at most 64 letters, digits and hyphens, kept with the
	// store's data: every process that opens the store reads the same identity, after every
	// restart. A copy of the data (a restored backup, a cloned database) keeps it. Mark resources
	// outside the store, such as a folder, with the identity and the run's id: two stores may have
	// runs with the same id.
	Identity(ctx context.Context) (string, error)
}

// RecentReader is implemented by a store that caches records.
type RecentReader interface {
	// Recent returns the run as this store object last wrote or read it, without reading the store;
	// false without a record. It may be stale: others may have changed the run, the writing
	// transaction may fail, and departures are missing. Use it only as the base of a Commit, which
	// compares the version; call Run before you reject something.
	Recent(id string) (Run, bool)
}

// Counters are what one store object has made durable since it was opened. (A Survey counts stored
// runs.)
type Counters struct {
	Commits uint64 // entries of Commit and runs of Claim
	Flushes uint64 // their durable transactions; 0 for a store that is not durable
	Rows    uint64 // written rows, or the store's equivalent
	Bytes   uint64 // of records, specs, events and settled interactions in them
	// Claims counts the claims that locked what other nodes' claims need, whatever they found; 0 for a
	// store whose claims need no lock between processes.
	Claims uint64
}

// Commit has everything that one transition, or one report of a running turn, changes.
type Commit struct {
	// Run is the new record. Run.Version must be Expect+1.
	Run Run
	// Expect is the version on which the decision was made; 0 creates the run.
	Expect uint64
	// Fence, if set, requires that the stored run is owned by this node under this epoch and that
	// the node is registered.
	Fence *Fence
	// Spec is the encoded specification; set only on creation.
	Spec []byte
	// Events are the new events; their Seq continue from the stored ones without a gap and end at
	// Run.Seq.
	Events []Event
	// Marker marks the events with the store's incarnation; nil leaves them as they are.
	Marker Marker
	// Settled are the interactions that this commit settles, by number: at most one for a single
	// question, and at most one with an idempotency key.
	Settled []interaction.Record
	// Usage is the usage of the turn that this commit ends; nil if none was reported. See
	// RunReader.Usage.
	Usage *Usage
	// Journal are the turn's new journal entries, counted in Run.Journal. See RunReader.Journal.
	Journal []interaction.JournalEntry

	bodies []byte // of the events added by AddEvent, joined
}

// Marker marks events with an incarnation.
//
// A store whose data may be restored keeps a number, the incarnation: 0 at first, and larger after
// each restore or failover that may have lost commits. Within the transaction that writes events it
// marks them, unless the incarnation is 0. So an event never has the id of a lost one, although it
// may have its number.
type Marker interface {
	// Mark returns an event's body with the incarnation, in new memory. It is pure.
	Mark(body []byte, incarnation uint64) []byte
}

const usualBodies = 512

// AddEvent adds an event to Events. encode appends the event's body to its argument.
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

// Reset empties the commit for reuse, including its events' memory: no one may retain them.
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
// The claim first picks the node's queued runs that already hold a slot, oldest first: the next
// turns of sticky runs, which need no new capacity. Then it applies slots.Select in each pool to
// queued runs whose NotBefore is at or before Now. A held run is never picked.
type ClaimRequest struct {
	Node string
	Now  time.Time
	Max  int // at least 1
	// Engines are the node's engines, named as in Node.Engines: only their runs are picked. A
	// claim's cost does not depend on queued runs of other engines. Nil: runs of any engine,
	// suspects included. Queued runs that hold a slot of the node are always picked: their process
	// is here.
	Engines []string
	// Suspects asks only for suspects of these engines, without runs that hold a slot of the node;
	// it needs Engines. With engines and without Suspects no suspects (Run.Suspect) are picked:
	// they are executed separately from other turns.
	Suspects bool
	// Hinted reports that a hint announced a ready run, so the store need not check before its
	// transaction. Most claims without a hint find nothing.
	Hinted bool
	// Found, unless nil, lets a claim that is not Hinted claim nothing and set it to the id of a ready
	// run: the caller claims without Found once no other node is likely to. A store whose claims do not
	// look first ignores it.
	Found *string
	// Drained, unless nil, is set to true by a claim that leaves no ready run of these engines: until
	// a hint announces a queued run, or a NotBefore passes, other claims find nothing, whatever slots
	// are released. A claim that sets Found sets it to true if no ready run needs such a slot. A store
	// that does not know leaves it unchanged.
	Drained *bool
	// NoSuspects, unless nil, is set to true by a claim without Suspects that found no ready suspect of
	// these engines. A store that does not know leaves it unchanged.
	NoSuspects *bool
	// NextDue, unless nil, receives the earliest time at which Due will return work. The time is in the
	// past if work is due now, and zero if no work will fall due. Unlike the time that Due returns, it
	// includes the ends of holds. Only stores whose claims read without locks first call it.
	NextDue func(at time.Time)
	// Start turns a picked run into its commit. It receives the record with Slot, Owner and Epoch
	// set, and the specification. It is pure and fast, and may be called repeatedly for one run if
	// the store retries its transaction. It must not change the record and the specification, which
	// are the store's. If it fails, that run is unchanged and Claim's error includes the cause. The
	// next claims may prefer other runs, so that it does not block the only free slot of each.
	Start func(r Run, spec []byte) (Commit, error)
}

// Claimed is a claimed run, as committed.
type Claimed struct {
	Run  Run
	Spec []byte
}

// Node is a process (one Serve call) that executes runs.
type Node struct {
	ID string
	// Identity lets another process on the machine detect that this process is dead. Opaque to the
	// store.
	Identity string
	Lease    time.Duration
	// Engines are the node's engines, sorted by byte, without duplicates: 1 to MaxEngines names of
	// 1 to 63 of [A-Za-z0-9._/-], beginning with a letter or digit. Nil: unknown, counts as any
	// engine.
	Engines []string
	// Until is the end of the lease, by the store's clock. Set by the store.
	Until time.Time
}

// Departure is a node's tombstone: its id, which is never reused, and the time of its removal from
// the registry. It never changes, so that all readers see the same RecoveredAt in the runs that the
// node parked.
type Departure struct {
	ID string
	At time.Time
}

// OwnedRun is a run that a node owns and that holds a slot.
type OwnedRun struct {
	RunID string
	Epoch uint64
	State fsm.State
}

// PoolUse is a pool and its used slots.
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
	// States filters by state, in any order; at most 1000 distinct ones.
	States []fsm.State
	Pool   string
	Key    string
	// Held selects only held runs (Run.Held). The listing's cost grows with their number only.
	Held bool
	// ForkedFrom selects only forks of this run. The listing's cost grows with their number only.
	ForkedFrom string
	// Parent selects only children of this run. The listing's cost grows with their number only.
	Parent string
	// Labels must all be present with these values; at most 1000. SQLite and PostgreSQL have an
	// index of them.
	Labels map[string]string
	// Newest reverses the order.
	Newest bool
	// After is the Next of the previous page; empty starts at the beginning.
	After string
	// Limit is the maximum number of runs, from 1 to 1000; 0 means 100.
	Limit int
}

// WaitingQuery filters and pages the runs that wait for people. Zero fields do not filter.
type WaitingQuery struct {
	Query
	// For selects only runs with an open question that this actor may answer, also as a deputy
	// (interaction.Audience.AdmitsAny); at most 1000 groups, with the principals and theirs. Nil: no
	// filter.
	For       *interaction.Actor
	DueBefore time.Time
	// VisibleAt leaves out the open questions that are hidden at this time
	// (interaction.Question.HiddenUntil), and runs with no other; zero: no filter.
	VisibleAt time.Time
}

// Page is one page of a listing. Next is empty at its end.
type Page struct {
	Runs []Run
	Next string
}
