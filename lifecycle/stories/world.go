package stories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// world is the place of one story: a store, the processes that use it, and the time.
type world struct {
	testing.TB

	ctx       context.Context
	open      Opener
	base      store.Store // direct, to read the reported state
	opened    []store.Store
	shared    *shared
	timers    *timers
	agents    *agents
	start     time.Time
	dir       string
	directory *directory
	shell     *shell

	clients map[string]*client
	nodes   map[string]*node
	order   []string // names of nodes, as they were started
	runs    []string // ids, as they were submitted
	// families maps the ids of runs that start others to their names in the story.
	families []string
	names    map[string]string
	readers  []*reader

	reported map[string]store.Run // each run as it was when it was last reported
}

// newWorld must be called inside the story's testing/synctest bubble.
func newWorld(tb testing.TB, open Opener, dir string) *world {
	tb.Helper()
	w := &world{
		TB: tb, ctx: tb.Context(), open: open, shared: newShared(), timers: new(timers), start: time.Now(), dir: dir,
		directory: &directory{of: make(map[string][]lifecycle.Principal)},
		clients:   make(map[string]*client), nodes: make(map[string]*node), reported: make(map[string]store.Run),
		names: make(map[string]string),
	}
	w.agents = newAgents(w.shared)
	w.base = w.openStore()
	return w
}

// openStore opens the store once more.
func (w *world) openStore() store.Store {
	s := w.open(w)
	if !slices.Contains(w.opened, s) {
		w.opened = append(w.opened, s)
	}
	return s
}

func (w *world) connect(name string) *connection {
	c := &connection{Store: w.openStore(), shared: w.shared, name: name, watches: make(map[int]func(store.Hint))}
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	w.shared.connections = append(w.shared.connections, c)
	return c
}

// client is a front end: a process that serves nothing.
type client struct {
	*lifecycle.Client
	conn   *connection
	answer chan string // receives the answer of the call that is held; nil when none is
}

func (w *world) client(name string) *client {
	if name == "" {
		name = "client"
	}
	if w.clients[name] == nil {
		conn := w.connect(name)
		c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: conn, Clock: clock{w.timers, conn},
			Logger: slog.New(slog.DiscardHandler), Directory: w.directory})
		require.NoError(w, err)
		w.clients[name] = &client{Client: c, conn: conn}
	}
	return w.clients[name]
}

func (w *world) connection(name string) (*connection, error) {
	if n := w.nodes[name]; n != nil {
		return n.connection, nil
	}
	if c := w.clients[name]; c != nil {
		return c.conn, nil
	}
	return nil, fmt.Errorf("there is no node or client %s", name)
}

// settle waits until no process has work left at this time.
func (w *world) settle() { synctest.Wait() }

// call makes a call of the client to the library. If held, the call pauses before it stores
// anything, and release returns its answer.
func (w *world) call(c *client, held bool, call func(ctx context.Context) string) (string, error) {
	if c.answer != nil {
		return "", fmt.Errorf("%s is in a call: release it first", c.conn.name)
	}
	if held {
		c.conn.holdNext("commit")
	}
	answer := make(chan string, 1)
	go func() { answer <- call(w.ctx) }()
	w.settle()
	select {
	case text := <-answer:
		c.conn.holdNext("")
		return text, nil
	default:
	}
	if c.conn.heldCall() == nil {
		return "", errors.New("the call does not return")
	}
	c.answer = answer
	return "", nil
}

func (w *world) close() {
	w.Helper()
	close(w.agents.ended)
	w.timers.free()
	for _, n := range w.nodes {
		n.resume()
		n.mu.Lock()
		n.cut, n.stopAt = false, ""
		h := n.held
		n.mu.Unlock()
		if h != nil {
			h.fate <- fails
		}
		n.cancel()
		<-n.served
	}
	for _, c := range w.clients {
		c.Close()
	}
	for _, s := range w.opened {
		require.NoError(w, s.Close())
	}
}

// checkEnd checks the story's final state before anything is closed.
func (w *world) checkEnd() error {
	var wrong []error
	for _, text := range w.agents.unplayed() {
		wrong = append(wrong, errors.New(text))
	}
	for name, c := range w.clients {
		if c.answer != nil {
			wrong = append(wrong, fmt.Errorf("the call of %s was never released", name))
		}
	}
	held := make(map[string]int)
	for _, id := range w.runs {
		r, err := w.base.Run(w.ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue // pruned
		}
		if r.Slot {
			held[r.Pool]++
		}
		if err == nil && r.State.Terminal() && (r.Slot || r.Owner != "" || len(r.Open) > 0) {
			err = errors.New("it has ended, and holds something")
		}
		if err == nil {
			err = w.checkLog(id)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("run %s: %w", id, err))
		}
	}
	return errors.Join(append(wrong, w.checkSlots(held))...)
}

// checkSlots compares the store's slot counts with the runs that hold slots.
func (w *world) checkSlots(held map[string]int) error {
	pools, err := w.base.Pools(w.ctx)
	for _, p := range pools {
		if p.Held != held[p.Name] && err == nil {
			err = fmt.Errorf("%d slots of pool %s are held, and %d by runs", p.Held, p.Name, held[p.Name])
		}
	}
	return err
}

func (w *world) checkLog(id string) error {
	all, err := w.events(id, 0, store.MaxBatch)
	if err != nil {
		return err
	}
	var log strings.Builder
	for _, e := range all {
		log.Write(e.Body)
		log.WriteByte('\n')
	}
	report, err := audit.Check(strings.NewReader(log.String()))
	if err == nil && report.First() != nil {
		err = fmt.Errorf("its log breaks the contract: %+v", *report.First())
	}
	return err
}

// events reads the stored events after the cursor, a page at a time.
func (w *world) events(id string, after uint64, page int) (all []store.Event, _ error) {
	for {
		some, err := w.base.Events(w.ctx, id, after, page)
		if err != nil || len(some) == 0 {
			return all, err
		}
		all = append(all, some...)
		after = some[len(some)-1].Seq
	}
}
