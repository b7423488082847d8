package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"

	"github.com/interlude-go/interlude/engine"
)

// Ctx gives a function access to its run. It is valid for one turn and one goroutine, and only in
// the function's own code: each parallel branch has its own Ctx (All), and a step or a
// compensation must not use any. Otherwise the run is held, with an error that names both calls,
// before anything is stored or asked. The use of another branch's Ctx is detected only during a
// call of that branch, or after the branch's end.
//
// Each call that writes a journal entry is a place of the function, and has a path. The function's
// third call has the path 3. If that is All, the first call in its first branch has the path
// 3.b1.1.
type Ctx struct {
	run    *run
	prefix string // of the paths of the branch
	last   int    // the number of the branch's last place
	over   error  // why the branch does nothing more in this turn; nil while it continues
	undo   []compensation

	mu      sync.Mutex // guards the fields below
	at      place      // the call that uses the Ctx; zero: none
	refused int        // calls without effect after the end of the turn
}

// Context returns the turn's context, which ends when the run is canceled or the host shuts down.
func (c *Ctx) Context() context.Context { return c.run.ctx }

// RunID is the id of the run.
func (c *Ctx) RunID() string { return c.run.id }

// ErrTurnOver means that the turn ends here: the run waits for an answer, a time or a child, was
// canceled, or cannot continue now. A function returns it.
var ErrTurnOver = errors.New("flow: the turn is over")

// maxRefused is the number of calls after the end of a turn that return its error. The next call
// ends the goroutine: a loop that ignores errors would never end.
const maxRefused = 1000

type place struct{ path, kind, name string }

func ended(what string) place { return place{kind: typeEnded, name: what} }

func (p place) failed(cause error, what string) error {
	return failed(cause, "%s at %s %s", described(p.kind, p.name), p.path, what)
}

func (p place) when() string {
	if p.kind == typeEnded {
		return "after the end of " + p.name
	}
	return "during " + described(p.kind, p.name) + " at " + p.path
}

// acquire reserves the Ctx for a call until release, and returns the path of its place. After an
// error, do not call release.
func (c *Ctx) acquire(kind, name string) (path string, _ error) {
	c.mu.Lock()
	at := c.at
	if at == (place{}) {
		path = c.next(kind, name)
		c.at = place{path, kind, name}
	}
	c.mu.Unlock()
	if at != (place{}) { // fields without a mutex belong to the call that uses the Ctx
		c.countRefusal()
		return "", c.run.misplaced(described(kind, name)+" is called", at)
	}
	if err := c.going(); err != nil {
		c.release()
		c.countRefusal()
		return path, err
	}
	return path, nil
}

func (c *Ctx) next(kind, name string) string {
	switch kind {
	case typeVer:
		return c.prefix + "v:" + name
	case typeUndo:
		return c.prefix + "u" + strconv.Itoa(len(c.undo)+1)
	}
	c.last++
	return c.prefix + strconv.Itoa(c.last)
}

func (c *Ctx) release() { c.use(place{}) }

func (c *Ctx) use(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = p
}

// end records that the function or branch has returned. If a call in another goroutine is using the
// Ctx, the run is held: whether that call's result is stored would be random.
func (c *Ctx) end(what string) {
	c.mu.Lock()
	at := c.at
	c.at = ended(what)
	c.mu.Unlock()
	if at != (place{}) {
		_ = c.run.misplaced(what+" ends", at)
	}
}

// countRefusal counts a call without effect, and ends the goroutine after too many. Deferred calls
// of the function are executed.
func (c *Ctx) countRefusal() {
	c.mu.Lock()
	c.refused++
	ended := c.refused > maxRefused
	c.mu.Unlock()
	if ended {
		runtime.Goexit()
	}
}

// misplaced holds the run, because a call uses a Ctx that another call is using. From then on the
// turn stores nothing, because results may depend on the call's result.
func (r *run) misplaced(what string, at place) error {
	why := misfit("%s %s, with the same Ctx: a step or compensation uses none, and a branch uses its own",
		what, at.when())
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.tainted {
		r.tainted, r.fatal = true, why
	}
	return fmt.Errorf("%w: %w", ErrTurnOver, why)
}

// untainted returns an error if a Ctx was misplaced in this turn.
func (r *run) untainted() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tainted {
		return r.fatal
	}
	return nil
}

func (c *Ctx) going() error {
	if c.over != nil {
		return c.over
	}
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := cmp.Or(r.fatal, context.Cause(r.ctx)); why != nil {
		c.over = fmt.Errorf("%w: %w", ErrTurnOver, why)
	}
	return c.over
}

// fail fails the run once the function has returned, for a reason that no later turn can change.
// Compensations are executed then. Other branches continue until they return or wait.
func (c *Ctx) fail(why error) error {
	c.run.mu.Lock()
	c.run.failure = cmp.Or(c.run.failure, why)
	c.run.mu.Unlock()
	c.over = fmt.Errorf("%w: %w", ErrTurnOver, why)
	return c.over
}

// endWith ends the turn because a call of the Sink returned an error. It fails the run unless the
// run no longer belongs to this turn, or the error is not final.
func (c *Ctx) endWith(err error) error {
	if c.run.ctx.Err() != nil || errors.Is(err, engine.ErrStale) || putsOff(err) {
		return c.stop(err)
	}
	return c.fail(err)
}

// stop ends the turn in all branches, for this reason.
func (c *Ctx) stop(why error) error {
	c.run.mu.Lock()
	if c.run.fatal == nil {
		c.run.fatal = why
	}
	c.run.mu.Unlock()
	return c.going()
}

// wait ends the turn in this branch, which waits for an answer, a time or a child.
func (c *Ctx) wait(what string) error {
	c.over = fmt.Errorf("%w: %s", ErrTurnOver, what)
	return c.over
}
