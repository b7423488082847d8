package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// command names a call that changes one run, for the errors of the call.
type command struct {
	verb     string
	run      string
	question int // zero if the call is about the run as a whole
}

// failed adds the call to the error.
func (cmd command) failed(err error) error {
	if cmd.question == 0 {
		return fmt.Errorf("lifecycle: %s run %s: %w", cmd.verb, cmd.run, err)
	}
	return fmt.Errorf("lifecycle: %s question %d of run %s: %w", cmd.verb, cmd.question, cmd.run, err)
}

// errReadAgain is returned by the decision of a command that saw an outdated record.
var errReadAgain = errors.New("lifecycle: the run has changed since it was read")

// carryOut carries out a command by compare-and-set. The decision reads the run, checks whether
// the command is allowed and possible, and returns the commit, or nil if nothing has to change. If
// the run has changed between the read and the commit, the decision is made again. Errors of the
// decision are returned as they are.
func (c *Client) carryOut(ctx context.Context, cmd command, attempt func() (*store.Commit, error)) error {
	for {
		cm, err := attempt()
		if errors.Is(err, errReadAgain) {
			continue
		}
		if err != nil || cm == nil {
			return err
		}
		if err = c.proc.Commit(ctx, cm); err == nil {
			c.proc.Due.NoteRun(&cm.Run)
		}
		decide.Recycle(cm)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return cmd.failed(err)
		}
	}
}
