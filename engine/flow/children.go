package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/interlude-go/interlude/engine"
)

// awaiting has the children for which a branch waits: for all, or any one.
type awaiting struct {
	runs []string
	any  bool
}

// Child is a run that the function has started (Spawn).
type Child struct {
	// RunID is the id of its run, and Name its name in the function.
	RunID, Name string
}

// ChildError is the error of a child that has failed or was canceled.
type ChildError struct {
	RunID, Name string
	Code        engine.Code
	Message     string
}

func (e *ChildError) Error() string {
	return fmt.Sprintf("child %s (run %s): %s: %s", e.Name, e.RunID, e.Code, e.Message)
}

// Spawn starts a child, once, and returns without waiting for it; Wait and WaitAny wait. Spawn sets
// the Key of the engine.Child. Properties that an engine.Child does not have, for example its pool,
// are inherited from the function's run; limits and budget are not. The child's questions are in
// the inbox, with the ids of its ancestors. When the function's run ends in any way, its open
// children are canceled.
func Spawn(c *Ctx, name string, child engine.Child) (Child, error) {
	started := Child{Name: name}
	path, err := c.acquire(typeSpawn, name)
	if err != nil {
		return started, err
	}
	defer c.release()
	found, err := c.lookUp(path, typeSpawn, name, &started.RunID)
	if err != nil || found {
		return started, err
	}
	parent, ok := c.run.sink.(engine.Parent)
	if !ok {
		return started, c.fail(&engine.Failure{Code: engine.CodeEngineUnavailable, Err: engine.ErrNoChildren})
	}
	if err := c.writeDue(); err != nil { // the child may depend on these entries
		return started, err
	}
	child.Key = path + "/" + name
	if started.RunID, err = parent.Spawn(c.run.ctx, child); err != nil {
		if !putsOff(err) && !errors.Is(err, engine.ErrStale) {
			err = failed(err, "%s at %s", described(typeSpawn, name), path)
		}
		return started, c.endWith(err)
	}
	return started, storeLater(c, place{path, typeSpawn, name}, &started.RunID, true)
}

// Wait returns the result of a child once it has ended: its output, or its final text if Out is a
// string. A result that cannot be decoded as Out holds the run. Until then, the function's run is
// queued, without slot, goroutine and memory. A *ChildError means that the child has failed or was
// canceled. If another branch waits for an answer, the run continues only after that.
func Wait[Out any](c *Ctx, child Child) (out Out, _ error) {
	ends, err := c.waitAll(child)
	if err != nil {
		return out, err
	}
	return resultOf[Out](c, child, ends[0])
}

// WaitAny waits until any of the children has ended, and returns its index, the lowest if several
// have ended. Wait then returns the result.
func WaitAny(c *Ctx, children ...Child) (index int, _ error) {
	path, err := c.acquire(typeAny, "")
	if err != nil {
		return 0, err
	}
	defer c.release()
	found, err := c.lookUp(path, typeAny, "", &index)
	if err != nil || found {
		return index, err
	}
	if len(children) == 0 {
		return 0, c.fail(failed(nil, "WaitAny at %s has no children", path))
	}
	runs := make([]string, len(children))
	for i, child := range children {
		end, err := c.endOf(child)
		switch {
		case err != nil:
			return 0, err
		case end != nil:
			return i, storeLater(c, place{path, typeAny, ""}, &i, true)
		}
		runs[i] = child.RunID
	}
	return 0, c.awaitChildren(awaiting{runs, true})
}

// Run starts a child and waits for its result: Spawn and Wait.
func Run[Out any](c *Ctx, name string, child engine.Child) (out Out, _ error) {
	started, err := Spawn(c, name, child)
	if err != nil {
		return out, err
	}
	return Wait[Out](c, started)
}

// RunAll starts children and waits for all. It returns their results in order. The error joins the
// errors of the children without a result.
func RunAll[Out any](c *Ctx, name string, children ...engine.Child) ([]Out, error) {
	started := make([]Child, len(children))
	for i, child := range children {
		var err error
		if started[i], err = Spawn(c, name, child); err != nil {
			return nil, err
		}
	}
	ends, err := c.waitAll(started...)
	if err != nil {
		return nil, err
	}
	results := make([]Out, len(children))
	errs := make([]error, len(children))
	for i := range ends {
		results[i], errs[i] = resultOf[Out](c, started[i], ends[i])
	}
	return results, errors.Join(errs...)
}

// keptEnd is the journal's entry for a child's end. A large result is read from the child's record,
// which is kept until its parent has ended.
type keptEnd struct {
	engine.ChildEnd

	Large bool `json:"large,omitempty"`
}

const maxKeptEnd = 16 << 10

// waitAll waits until each of the children has ended. Each end has its own place in the journal.
func (c *Ctx) waitAll(children ...Child) ([]engine.ChildEnd, error) {
	ends := make([]engine.ChildEnd, len(children))
	var alive []string
	for i, child := range children {
		end, err := c.nextEnd(child)
		switch {
		case err != nil:
			return nil, err
		case end == nil:
			alive = append(alive, child.RunID)
		default:
			ends[i] = *end
		}
	}
	if len(alive) > 0 {
		return nil, c.awaitChildren(awaiting{alive, false})
	}
	return ends, nil
}

// nextEnd returns how a child has ended, or nil: from the journal's next entry, or from the child's
// record, from which it makes the entry.
func (c *Ctx) nextEnd(child Child) (*engine.ChildEnd, error) {
	path, err := c.acquire(typeEnd, child.Name)
	if err != nil {
		return nil, err
	}
	defer c.release()
	var entry keptEnd
	found, err := c.lookUp(path, typeEnd, child.Name, &entry)
	if err != nil || found && !entry.Large {
		return &entry.ChildEnd, err
	}
	end, err := c.endOf(child)
	if err != nil || end == nil || found {
		return end, err
	}
	entry.ChildEnd = *end
	if entry.Large = len(end.Output)+len(end.FinalText) > maxKeptEnd; entry.Large {
		entry.Output, entry.FinalText = nil, ""
	}
	err = storeLater(c, place{path, typeEnd, child.Name}, &entry, true)
	if !entry.Large {
		end = &entry.ChildEnd
	}
	return end, err
}

// maxChildReads is the number of open children that are read separately before all open ones are
// listed.
const maxChildReads = 8

// openChildren caches which children were open when last read: a function that waits for any of a
// thousand children, a thousand times, would read a million records. It is cleared after each step,
// during which children may end.
type openChildren struct {
	mu     sync.Mutex // held during reads, so branches do not read the same children
	ids    map[string]bool
	listed bool // ids has all open children
}

func (o *openChildren) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids, o.listed = nil, false
}

func (o *openChildren) note(runIDs ...string) {
	if o.ids == nil {
		o.ids = make(map[string]bool)
	}
	for _, id := range runIDs {
		o.ids[id] = true
	}
}

// endOf returns how a child has ended; nil if it is, or when last read was, open.
func (c *Ctx) endOf(child Child) (end *engine.ChildEnd, err error) {
	parent, ok := c.run.sink.(engine.Parent)
	if !ok {
		return nil, c.fail(&engine.Failure{Code: engine.CodeEngineUnavailable, Err: engine.ErrNoChildren})
	}
	open := &c.run.open
	open.mu.Lock()
	defer open.mu.Unlock()
	if len(open.ids) >= maxChildReads && !open.listed {
		ids, err := parent.OpenChildren(c.run.ctx)
		if err != nil {
			return nil, c.endWith(err)
		}
		open.note(ids...)
		open.listed = true
	}
	if !open.ids[child.RunID] {
		end, err = parent.ChildEnd(c.run.ctx, child.RunID)
	}
	switch {
	case err != nil:
		return nil, c.endWith(err)
	case end == nil:
		open.note(child.RunID)
	}
	return end, nil
}

func (c *Ctx) awaitChildren(a awaiting) error {
	c.run.mu.Lock()
	c.run.await = append(c.run.await, a)
	c.run.mu.Unlock()
	return c.wait("the run waits for its children")
}

func resultOf[Out any](c *Ctx, child Child, end engine.ChildEnd) (out Out, _ error) {
	if !end.Succeeded {
		return out, &ChildError{child.RunID, child.Name, end.Code, end.Message}
	}
	if string(end.Output) == "null" { // the journal's form of no output
		end.Output = nil
	}
	if text, ok := any(&out).(*string); ok {
		*text = end.FinalText
		if output := string(end.Output); *text == "" && output != "" && output != "{}" { // a run without output has {}
			return out, c.stop(misfit("child %q (run %s) has an object as its output, and the code expects a text",
				child.Name, child.RunID))
		}
		return out, nil
	}
	if err := json.Unmarshal(end.Output, &out); err != nil {
		return out, c.stop(misfit("child %q (run %s) has another output than the code expects: %v", child.Name,
			child.RunID, err))
	}
	return out, nil
}
