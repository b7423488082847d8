package scenario_test

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

// world is what one story takes place in.
type world struct {
	testing.TB

	ctx     context.Context
	open    opener
	base    store.Store // as nothing stands between: for what the story tells
	handles []store.Store
	board   *board
	timers  *timers
	agents  *agents
	begun   time.Time

	clients map[string]*client
	nodes   map[string]*node
	order   []string // names of nodes
	runs    []string // ids, in the order of their submission
	told    map[string]store.Run
	dir     string
	shell   *shell

	readers map[string]*reader
	reading []string // names of readers
}

// newWorld is called in a bubble.
func newWorld(tb testing.TB, open opener, dir string) *world {
	tb.Helper()
	w := &world{
		TB: tb, ctx: tb.Context(), open: open, board: newBoard(), timers: new(timers), begun: time.Now(), dir: dir,
		clients: make(map[string]*client), nodes: make(map[string]*node), told: make(map[string]store.Run),
		readers: make(map[string]*reader),
	}
	w.agents = &agents{
		board: w.board, scripts: make(map[string]*script), prompts: make(map[string]string),
		expired: make(map[string]bool), immortal: make(map[string]bool),
		working: make(map[string][]chan struct{}), over: make(chan struct{}),
	}
	w.base = w.handle()
	return w
}

// handle opens the store once more.
func (w *world) handle() store.Store {
	s := w.open(w)
	if !slices.Contains(w.handles, s) {
		w.handles = append(w.handles, s)
	}
	return s
}

// newView is the store for one more process.
func (w *world) newView(name string) *view {
	v := &view{Store: w.handle(), board: w.board, name: name, watches: make(map[int]func(store.Hint))}
	w.board.mu.Lock()
	defer w.board.mu.Unlock()
	w.board.views = append(w.board.views, v)
	return v
}

// client is a front end, and the call that it is in.
type client struct {
	*lifecycle.Client
	view *view
	call chan string // of a call that was held: its answer
}

// client returns the one of that name; there is a new one for each new name.
func (w *world) client(name string) *client {
	if name == "" {
		name = "client"
	}
	if w.clients[name] == nil {
		v := w.newView(name)
		c, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: v, Clock: clock{w.timers, v},
			Logger: slog.New(slog.DiscardHandler)})
		require.NoError(w, err)
		w.clients[name] = &client{Client: c, view: v}
	}
	return w.clients[name]
}

// quiet waits until nobody has anything more to do at this time.
func (w *world) quiet() { synctest.Wait() }

// ask has the client call the library. Held says that the call stands still before it stores
// anything.
func (w *world) ask(c *client, heldCall bool, call func(ctx context.Context) string) (string, error) {
	if c.call != nil {
		return "", fmt.Errorf("%s is in a call: release it first", c.view.name)
	}
	if heldCall {
		c.view.mu.Lock()
		c.view.stop = "commit"
		c.view.mu.Unlock()
	}
	answer := make(chan string, 1)
	go func() { answer <- call(w.ctx) }()
	w.quiet()
	select {
	case text := <-answer:
		c.view.mu.Lock()
		c.view.stop = ""
		c.view.mu.Unlock()
		return text, nil
	default:
	}
	if !c.view.holds() {
		return "", errors.New("the call does not return")
	}
	c.call = answer
	return "", nil
}

func (v *view) holds() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.held != nil
}

// end closes the story: all processes leave, and what is left is looked at.
func (w *world) end() {
	w.Helper()
	close(w.agents.over)
	w.timers.free()
	for _, n := range w.nodes {
		n.resume()
		n.mu.Lock()
		n.cut, n.stop = false, ""
		h := n.held
		n.mu.Unlock()
		if h != nil {
			h.goes <- fails
		}
		n.cancel()
		<-n.served
	}
	for _, c := range w.clients {
		c.Close()
	}
	for _, s := range w.handles {
		require.NoError(w, s.Close())
	}
}

// verdict is what is wrong with what the story leaves behind, before anything is closed.
func (w *world) verdict() error {
	var wrong []error
	for _, text := range w.agents.unread() {
		wrong = append(wrong, errors.New(text))
	}
	for name, c := range w.clients {
		if c.call != nil {
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
		if err == nil && r.State.Terminal() && (r.Slot || r.Owner != "" || r.Pending != nil) {
			err = errors.New("it has ended, and holds something")
		}
		if err == nil {
			err = w.check(id)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("run %s: %w", id, err))
		}
	}
	return errors.Join(append(wrong, w.slots(held))...)
}

// slots says where slots were leaked, or counted twice.
func (w *world) slots(held map[string]int) error {
	pools, err := w.base.Pools(w.ctx)
	for _, p := range pools {
		if p.Held != held[p.Name] && err == nil {
			err = fmt.Errorf("%d slots of pool %s are held, and %d by runs", p.Held, p.Name, held[p.Name])
		}
	}
	return err
}

// check holds the run's whole log against the contract.
func (w *world) check(id string) error {
	all, err := w.events(id, 0)
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

// events reads the stored events after the cursor.
func (w *world) events(id string, after uint64) ([]store.Event, error) {
	return w.pages(id, after, store.MaxBatch)
}

// pages reads them so many at a time.
func (w *world) pages(id string, after uint64, size int) (all []store.Event, _ error) {
	for {
		page, err := w.base.Events(w.ctx, id, after, size)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
		after = page[len(page)-1].Seq
	}
}
