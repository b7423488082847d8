package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// Config configures a Lifecycle. Only an engine is required.
type Config struct {
	// Store keeps the runs. Nil: in memory, lost with the process. A store.Timekeeper also provides
	// the time; see Clock.
	Store store.Store
	// Engine executes runs whose spec names no engine; Engines has the others by name, 1 to 1000 in
	// all. Runs of other engines stay queued for a node that has their engine; Stats counts them.
	Engine  engine.Engine
	Engines map[string]engine.Engine
	// Pools are created or changed by New. The default pool always exists, with DefaultCapacity
	// unless configured.
	Pools []Pool
	// Dir has the runs' folders: DIR/<run id>/work, artifacts, transcripts and home, private to this
	// user; see Lifecycle.Folder. If Dir is empty, turns have no folders: engines with child
	// processes refuse these turns. New creates a missing Dir, and fails if it cannot write there.
	//
	// Nodes on several machines should share Dir: a node without a run's folders fails its turn with
	// WORKSPACE_MISSING.
	Dir string

	// Concurrency limits the turns that this process executes at the same time; 64 when zero.
	Concurrency int
	// Lease is how long other nodes wait for a silent process before they take over its runs; at
	// least 1 s. When zero, 60 s on a store.Timekeeper, a server whose failover the lease should
	// outlast; else 15 s. It is renewed every third of this time; on a server every 5 s at least.
	Lease time.Duration
	// Grace is how long a shutdown waits for turns before it interrupts them: 10 s when zero, not at
	// all when negative, until all have finished when UntilDone.
	Grace time.Duration
	// Forgiving is recommended for most hosts: deploys, rate limits and refused sessions then
	// neither end a run nor lose an answer. It sets these defaults, unless the fields below are set:
	//
	//   - Retry: transient failures are retried DefaultRetries times.
	//   - OnInterrupt is Ask: only people know whether an interrupted turn may be repeated, so its
	//     run is held until an operator decides.
	//   - Hold is HoldOn: runs are held if an operator can repair the cause.
	//
	// Operators list held runs with Runs(Query{Held: true}), and decide with Resume. Without Forgiving
	// these runs fail immediately, for hosts that submit again.
	//
	// Earlier releases cannot read held runs: set Forgiving after their nodes have been replaced.
	Forgiving bool
	// Retry is the default for runs whose spec has none. Nil: a transient failure fails these runs.
	Retry *Retry
	// OnInterrupt is the default for runs whose spec has none: Fail (also when empty), Repeat or Ask.
	OnInterrupt OnInterrupt
	// Hold is the default for runs whose spec has none: HoldOn, or HoldOff (also when empty).
	Hold HoldPolicy
	// Poll is how long the scheduler and followers wait for a hint before they read the store; 1 s
	// when zero.
	Poll time.Duration

	// Clock provides the time for deadlines, events and records. Nil: the clock of a
	// store.Timekeeper, so that a wrong clock of a node does not move deadlines; otherwise
	// SystemClock. A store.Timekeeper's clock always judges leases.
	Clock Clock
	// Logger is slog.Default when nil. It gets one record a minute of an error that is tried again.
	Logger *slog.Logger
	// Observer gets notices of the changes by this process.
	Observer Observer
	// Authorize decides about the calls of this process: see ClientConfig.Authorize.
	Authorize Authorize
	// Policy decides about approvals before people see them. They are hidden from inboxes and
	// notices until it has left them to people, or PolicyTimeout is over. Set it on all nodes, in any
	// version: the node whose turn asks hides the question, and any node decides. A node with Remember
	// and without Policy decides, too: it leaves to people what another node's Policy would decide.
	// Authorize is not called for its decisions.
	//
	// Nil: people decide about all approvals. Earlier releases cannot read a run while the policy may
	// decide its question, and then until a person acts on it: set Policy after their nodes have been
	// replaced.
	Policy Policy
	// PolicyTimeout is how long an approval is hidden at most: 5 s when zero; whole seconds, up to
	// MaxPolicyTimeout.
	PolicyTimeout time.Duration
	// Remember allows approvals to cover later calls of the same tool in the same run, for at most this
	// time (Reply.Remember, Client.Forget). Set it on all nodes and clients. A node ignores decisions
	// older than this. It uses a remembered decision only if the Policy returns the zero Ruling. A
	// refusal by the Policy ends the run's remembered decisions about that tool. Authorize is not called
	// when a decision is used.
	//
	// 0: not allowed; stored decisions are not used. Earlier releases cannot read a run with a remembered
	// decision, so set it after you have replaced their nodes.
	Remember time.Duration
	// Directory names the people for whom an actor may act. See ClientConfig.Directory.
	Directory Directory
}

// MaxPolicyTimeout limits Config.PolicyTimeout.
const MaxPolicyTimeout = time.Hour

// UntilDone as Config.Grace lets every turn finish. Until then nothing is claimed, and the lease is
// renewed. A turn whose engine never returns keeps Serve from ending.
const UntilDone = time.Duration(math.MaxInt64)

// Lifecycle executes runs, and has all calls of a Client. It is safe for concurrent use.
type Lifecycle struct {
	*Client
	cfg     Config
	node    node.Config
	serving atomic.Bool
}

// New returns a Lifecycle. It starts nothing: call Serve.
func New(cfg Config) (*Lifecycle, error) {
	engines, err := cfg.allEngines()
	if err != nil {
		return nil, err
	}
	for _, p := range cfg.Pools {
		if err := p.Validate(); err != nil {
			return nil, &ArgumentError{"Config.Pools", "wrong: " + err.Error(), "pools that can be stored", err}
		}
	}
	if cfg, err = cfg.withDefaults(); err != nil {
		return nil, err
	}
	c, err := NewClient(ClientConfig{Store: cfg.Store, Clock: cfg.Clock, Logger: cfg.Logger, Poll: cfg.Poll,
		Observer: cfg.Observer, Authorize: cfg.Authorize, Directory: cfg.Directory, Remember: cfg.Remember})
	if err != nil {
		return nil, err
	}
	c.proc.Engines = engines
	c.proc.Host = decide.HostDefaults{OnInterrupt: cfg.OnInterrupt, Hold: cfg.Hold, Retry: cfg.Retry,
		Recall: cfg.Remember}
	c.proc.Member = c.deputies.isMember
	if cfg.Policy != nil {
		c.proc.Policy, c.proc.Host.HideFor = cfg.Policy, cfg.PolicyTimeout
	}
	l := &Lifecycle{Client: c, cfg: cfg, node: node.Config{
		Process: &c.proc, Lease: cfg.Lease, Pace: cfg.pace(), Grace: cfg.Grace, Poll: cfg.Poll,
		Engines: slices.Sorted(maps.Keys(engines)), Folders: node.Folders{Dir: cfg.Dir},
		Permits: semaphore.NewWeighted(int64(cfg.Concurrency)), Specs: specs{},
		Subscribe: func(onHint func(store.Hint)) (stop func()) { return c.hub.subscribe(onHint).close },
	}}
	if err := l.setPools(); err != nil {
		return nil, err
	}
	if cfg.Dir != "" {
		if l.node.Folders.Store, err = cfg.Store.Identity(context.Background()); err != nil {
			return nil, fmt.Errorf("lifecycle: read the store's identity: %w", err)
		}
		c.folders = l.node.Folders
	}
	return l, nil
}

// allEngines returns the engines by name. An engine.Scoped, which keeps data by run id, gets a separate
// scope, since another Lifecycle may have runs with the same ids.
func (c Config) allEngines() (map[string]engine.Engine, error) {
	engines := maps.Clone(c.Engines)
	if engines == nil {
		engines = make(map[string]engine.Engine)
	}
	if c.Engine != nil {
		engines[DefaultEngine] = c.Engine
	}
	if len(engines) == 0 {
		return nil, &ArgumentError{"Config.Engine", "nil, and Config.Engines is empty",
			"at least one engine; a process that executes nothing uses NewClient", nil}
	}
	if len(engines) > store.MaxEngines {
		return nil, &ArgumentError{"Config.Engines", entriesOf(len(engines)),
			fmt.Sprintf("at most %d", store.MaxEngines), nil}
	}
	for name, e := range engines {
		if !namePattern.matches(name) {
			return nil, &ArgumentError{"Config.Engines", "one under " + quote(name), "a name of " + wantName, nil}
		}
		if isNil(e) {
			return nil, &ArgumentError{"Config.Engines", "nil under " + quote(name), "an engine", nil}
		}
	}
	for name, e := range engines {
		if s, ok := e.(engine.Scoped); ok {
			engines[name] = s.Scope(e)
		}
	}
	return engines, nil
}

// onServer reports whether nodes on several machines may share the store.
func onServer(s store.Store) bool {
	_, ok := s.(store.Timekeeper)
	return ok
}

// pace is the interval of heartbeats and recovery passes. They find a dead process on the same
// machine, a lost acknowledgement and a cancel, so on a server it does not grow with the lease.
func (c *Config) pace() time.Duration {
	if onServer(c.Store) {
		return min(c.Lease/3, 5*time.Second)
	}
	return c.Lease / 3
}

func (c Config) withDefaults() (Config, error) {
	if c.Store == nil {
		c.Store = memory.New()
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.Lease == 0 && onServer(c.Store) {
		c.Lease = time.Minute
	}
	if c.Lease == 0 {
		c.Lease = 15 * time.Second
	}
	if c.Grace == 0 {
		c.Grace = 10 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if c.PolicyTimeout == 0 && c.Policy != nil {
		c.PolicyTimeout = 5 * time.Second
	}
	if c.Forgiving {
		c.Retry = cmp.Or(c.Retry, &Retry{Max: DefaultRetries, Jitter: DefaultRetryBackoff})
		c.OnInterrupt, c.Hold = cmp.Or(c.OnInterrupt, Ask), cmp.Or(c.Hold, HoldOn)
	}
	if fault := validateRetry(c.Retry); fault != nil {
		return c, &ArgumentError{"Config.Retry", fault.Value, fault.Want, nil}
	}
	if c.Retry != nil {
		retry := *c.Retry // the host may change its own
		c.Retry = &retry
	}
	switch {
	case !knownOnInterrupt(c.OnInterrupt):
		return c, &ArgumentError{"Config.OnInterrupt", quote(string(c.OnInterrupt)), wantOnInterrupt, nil}
	case !knownHold(c.Hold):
		return c, &ArgumentError{"Config.Hold", quote(string(c.Hold)), wantHold, nil}
	case c.Concurrency < 1:
		return c, &ArgumentError{"Config.Concurrency", fmt.Sprint(c.Concurrency), "at least 1", nil}
	case c.Lease < time.Second:
		return c, &ArgumentError{"Config.Lease", c.Lease.String(), "at least 1s", nil}
	case c.Poll < time.Millisecond:
		return c, &ArgumentError{"Config.Poll", c.Poll.String(), "at least 1ms", nil}
	case c.Policy != nil && (c.PolicyTimeout < time.Second || c.PolicyTimeout > MaxPolicyTimeout ||
		c.PolicyTimeout%time.Second != 0):
		return c, &ArgumentError{"Config.PolicyTimeout", c.PolicyTimeout.String(), "whole seconds, from 1s to " +
			MaxPolicyTimeout.String(), nil}
	}
	if c.Dir != "" {
		dir, err := filepath.Abs(c.Dir)
		if err != nil {
			return c, fmt.Errorf("lifecycle: Config.Dir: %w", err)
		}
		if err := ensureWritable(dir); err != nil {
			return c, &ArgumentError{"Config.Dir", "of no use: " + err.Error(),
				"a folder that this process can make and write to", err}
		}
		c.Dir = dir
	}
	return c, nil
}

// ensureWritable creates the folder and writes a file: otherwise every claimed run would fail.
func ensureWritable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".writable-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// setPools stores the configured pools, and a missing default pool.
func (l *Lifecycle) setPools() error {
	ctx := context.Background()
	known, err := l.proc.Store.Pools(ctx)
	if err != nil {
		return fmt.Errorf("lifecycle: read pools: %w", err)
	}
	pools := l.cfg.Pools
	isDefault := func(p Pool) bool { return p.Name == DefaultPool }
	if !slices.ContainsFunc(pools, isDefault) &&
		!slices.ContainsFunc(known, func(p store.PoolUse) bool { return isDefault(p.Pool) }) {
		pools = append([]Pool{{Name: DefaultPool, Capacity: DefaultCapacity}}, pools...)
	}
	for _, p := range pools {
		if err := l.proc.Store.SetPool(ctx, p); err != nil {
			return fmt.Errorf("lifecycle: set pool %s: %w", p.Name, err)
		}
	}
	return nil
}

// Serve claims and executes runs, fires deadlines and recovers runs of dead processes, until ctx
// ends. Then it lets turns finish for Config.Grace, interrupts the rest, ends resident processes,
// releases its lease, and returns nil. A turn whose engine was not called returns to the queue; any
// other interrupted turn is repeated, held, or fails with ORCHESTRATOR_RESTART_INTERRUPTED, as the
// spec or Config.OnInterrupt says.
//
// Serve waits for everything that it has started, except engine code that ignores its context: it
// returns at most 43 s after Grace. A *StuckError (ErrStuck) then lists the unreturned calls, which
// can change no run. Other errors are ErrServing if the Lifecycle serves already, store.ErrClosed
// (wrapped) if the store was closed, or why the node cannot join the store. Serve logs and retries
// other errors of the store, including a lost lease.
func (l *Lifecycle) Serve(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	if !l.serving.CompareAndSwap(false, true) {
		return ErrServing
	}
	defer l.serving.Store(false)
	err := l.serve(ctx)
	if calls := l.Stuck(); len(calls) > 0 {
		return errors.Join(err, &StuckError{Calls: calls})
	}
	return err
}

// serve joins the store as a node and serves; after a lost lease it joins as a new node.
func (l *Lifecycle) serve(ctx context.Context) error {
	n, err := node.Join(ctx, &l.node)
	for {
		if err != nil && ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		l.ownNode.Store(n)
		err = n.Serve(ctx)
		l.ownNode.Store(nil)
		switch {
		case errors.Is(err, store.ErrClosed):
			return fmt.Errorf("lifecycle: serve: %w", err)
		case !errors.Is(err, store.ErrStaleEpoch):
			return err
		case ctx.Err() != nil: // other nodes recover this one's runs
			return nil
		}
		l.notices.leaseLost(n.ID(), l.proc.Now())
		l.proc.Log.Warn("lease lost: another node took over; joining again", "node", n.ID(), "stuck", len(l.Stuck()))
		n, err = l.rejoin(ctx)
	}
}

// rejoin retries joining until it succeeds, ctx ends or the store is closed.
func (l *Lifecycle) rejoin(ctx context.Context) (*node.Node, error) {
	for {
		n, err := node.Join(ctx, &l.node)
		if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrClosed) {
			return n, err
		}
		l.proc.Log.Error("trying again", "err", err)
		if err := l.proc.Sleep(ctx, l.cfg.Poll); err != nil {
			return nil, err
		}
	}
}

// Ready returns nil if this process can execute runs: Serve runs, its lease is valid, and the store
// answers and still lists the node. Otherwise the error names the missing condition. It is for
// readiness probes: cheap, and without Authorize. A process that is shutting down stays ready until
// Serve returns, so end the probe's success with Serve's context.
func (l *Lifecycle) Ready(ctx context.Context) error {
	if err := l.check(ctx); err != nil {
		return err
	}
	own := l.ownNode.Load()
	switch {
	case own == nil:
		return errors.New("lifecycle: Serve does not run, or its node has not joined the store")
	case !own.Leased():
		return fmt.Errorf("lifecycle: node %s could not renew its lease in time", own.ID())
	}
	nodes, err := l.proc.Store.Nodes(ctx)
	if err != nil {
		return fmt.Errorf("lifecycle: read the store's nodes: %w", err)
	}
	if !slices.ContainsFunc(nodes, func(n store.Node) bool { return n.ID == own.ID() }) {
		return fmt.Errorf("lifecycle: node %s was removed from the store after its lease", own.ID())
	}
	return nil
}

// Folder is a run's folder in Config.Dir: DIR/<run id>, or, if that belongs to another run, for
// instance a pruned one or one of another store, DIR/<run id>~<digest>. It is empty without a
// Config.Dir, and may not exist before the run's first turn.
func (l *Lifecycle) Folder(ctx context.Context, id string) (string, error) {
	run, err := l.Get(ctx, id)
	if err != nil || l.node.Folders.Dir == "" {
		return "", err
	}
	base, _, err := l.node.Folders.Of(&run)
	return base, err
}
