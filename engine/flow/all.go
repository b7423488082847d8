package flow

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
)

// All executes branches concurrently, each with its own Ctx, and returns when all have returned.
// The places of a branch in the journal do not depend on the other branches. Questions of several
// branches are asked together, and the run continues when each is answered.
//
// The error joins the errors of the branches, in their order. Branches leave results in variables
// of the function. If a branch waits, the error of All matches ErrTurnOver.
func All(c *Ctx, branches ...func(c *Ctx) error) error {
	path, err := c.acquire(typeAll, "")
	if err != nil {
		return err
	}
	defer c.release()
	inner := make([]*Ctx, len(branches))
	errs := make([]error, len(branches))
	var all sync.WaitGroup
	for i, f := range branches {
		inner[i] = &Ctx{run: c.run, prefix: fmt.Sprintf("%s.b%d.", path, i+1)}
		all.Go(func() {
			_, errs[i] = guarded(func() (struct{}, error) { return struct{}{}, f(inner[i]) })
			inner[i].end(fmt.Sprintf("branch %s.b%d", path, i+1))
		})
	}
	all.Wait()
	for i, b := range inner {
		c.undo = append(c.undo, b.undo...)
		c.over = cmp.Or(c.over, b.over)
		if putsOff(errs[i]) {
			return c.stop(errs[i])
		}
	}
	if err := c.going(); err != nil {
		return err
	}
	return errors.Join(errs...)
}
