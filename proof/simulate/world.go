package simulate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// world is everything that runs under one seed.
type world struct {
	ctx   context.Context
	plan  *plan
	rand  *rand.Rand  // used by the scheduler only
	store store.Store // without the gate, for the scheduler and the verdict

	directory lifecycle.Directory // of the people's clients; a nil *directory knows no one

	mu      sync.Mutex
	names   names      // guarded by mu
	arrived []*request // guarded by mu; have arrived since the world was last quiescent
	views   []*view    // guarded by mu; by name

	processes int // guarded by mu; how many have goroutines left

	waiting  []*request // used by the scheduler only; the requests at the gate
	options  []choice
	hosts    []*host
	people   []*person
	operator *person
	step     int  // changed under mu
	calmed   bool // nothing goes wrong any more; changed under mu
	ending   chan struct{}
	open     map[string]bool // guarded by mu; the runs that had not ended when everybody was sent home
	ended    bool

	witness witness
	turns   turns
	feed    feedWitness
	claimed []hold         // the claims of the last call
	said    string         // the result of the last call, for the trace
	unheard map[hold]bool  // claims whose answer did not arrive
	lost    map[write]bool // writes that took effect and were not acknowledged
	failed  map[write]bool // writes that had no effect
	trace   trace

	noting    sync.Mutex
	sightings map[string]int // guarded by noting
	faults    []string       // guarded by noting
	counts    Counts         // used by the scheduler only
}

// Options configure a run of a world.
type Options struct {
	// Trace keeps a readable line for each step.
	Trace bool
	// Store wraps the world's store, which is in memory. It may be nil.
	Store func(store.Store) store.Store
	// Directory wraps the directory of a world whose people have deputies. It may be nil.
	Directory func(lifecycle.Directory) lifecycle.Directory
}

// Counts say how much happened.
type Counts struct {
	Seeds, Steps, Operations, Faults int
	Simulated                        time.Duration
}

// Add adds the counts of another world.
func (c *Counts) Add(o Counts) {
	c.Seeds += o.Seeds
	c.Steps += o.Steps
	c.Operations += o.Operations
	c.Faults += o.Faults
	c.Simulated += o.Simulated
}

func (c Counts) String() string {
	return fmt.Sprintf("%d seeds, %.0f simulated hours, %d steps, %d store operations, %d faults", c.Seeds,
		c.Simulated.Hours(), c.Steps, c.Operations, c.Faults)
}

// Report is the result of a world.
type Report struct {
	Seed uint64
	// Broken describes the promises that were broken; empty if all were kept.
	Broken []string
	// Hash is a hash of everything that happened: equal for equal seeds.
	Hash uint64
	// Trace has a line for each step, if Options.Trace asks for it.
	Trace []string
	// Sightings counts the rare branches that were reached.
	Sightings map[string]int
	Counts    Counts
}

// Run runs a world from its beginning to its end, in the caller's synctest bubble.
func Run(seed uint64, o Options) *Report {
	r := rand.New(rand.NewPCG(seed, 0x696e7465726c7564))
	w := newWorld(newPlan(r), r, o)
	w.live()
	if len(w.faults) == 0 {
		w.judge()
	}
	slices.Sort(w.faults)
	w.counts.Seeds, w.counts.Steps, w.counts.Simulated = 1, w.step, time.Since(epoch)
	return &Report{Seed: seed, Broken: w.faults, Hash: w.trace.hash, Trace: w.trace.lines, Sightings: w.sightings,
		Counts: w.counts}
}

func newWorld(p *plan, r *rand.Rand, o Options) *world {
	inner := memory.New()
	w := &world{
		ctx: context.Background(), plan: p, rand: r, store: inner, names: newNames(), ending: make(chan struct{}),
		open:    make(map[string]bool),
		unheard: make(map[hold]bool), lost: make(map[write]bool), failed: make(map[write]bool),
		trace: trace{store: o.Trace}, sightings: make(map[string]int),
	}
	if o.Store != nil {
		w.store = o.Store(inner)
	}
	if w.directory = p.directory; o.Directory != nil && p.directory != nil {
		w.directory = o.Directory(p.directory)
	}
	w.witness = witness{world: w, runs: make(map[string]*store.Run), nodes: make(map[string]bool),
		used: make(map[string][]store.TurnUsage), hidden: make(map[questionOf]*hidden), rulings: make(map[ruleOf]int),
		memos: make(map[questionOf]*memo)}
	w.turns = turns{world: w, calls: make(map[string][]*call)}
	inner.Watch(w.heard)
	if p.calm {
		w.saw("nothing went wrong in a world")
	}
	return w
}

// newView returns the store and the clock of a process that starts now.
func (w *world) newView(name string, skew time.Duration) *view {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := &view{world: w, name: name, skew: skew}
	i, _ := slices.BinarySearchFunc(w.views, name, func(v *view, name string) int {
		return strings.Compare(v.name, name)
	})
	w.views = slices.Insert(slices.Clone(w.views), i, v) // sorted by name, independent of who comes first
	return v
}

// all returns the views of all living processes, sorted by name.
func (w *world) all() []*view {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.views // the slice is never changed in place
}

// leaveView removes a process's view.
func (w *world) leaveView(v *view) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v.dead = true
	w.views = slices.DeleteFunc(slices.Clone(w.views), func(o *view) bool { return o == v })
}

// script returns the agent's plan for the turn.
func (w *world) script(t engine.Turn) turnPlan {
	p, turn := w.runPlan(t.RunID), 0
	if len(t.Answers) > 0 && !p.inherits(t) {
		turn = p.turn(t.Answers[0].ID)
	}
	return p.turns[min(turn, len(p.turns)-1)]
}

func (w *world) runPlan(id string) *runPlan {
	for _, r := range w.plan.runs {
		if r.spec.ID == id {
			return r
		}
		if f := r.forked(); f != nil && f.spec.ID == id {
			return f
		}
	}
	return nil
}

// saw counts a rare branch.
func (w *world) saw(what string) {
	w.noting.Lock()
	defer w.noting.Unlock()
	w.sightings[what]++
}

// fault records a broken promise.
func (w *world) fault(what string) {
	w.noting.Lock()
	defer w.noting.Unlock()
	w.faults = append(w.faults, what)
}

func (w *world) broken() bool {
	w.noting.Lock()
	defer w.noting.Unlock()
	return len(w.faults) > 0
}

// note adds a step to the trace: who, what, and the result.
func (w *world) note(words ...string) { w.trace.add(time.Since(epoch), words...) }
