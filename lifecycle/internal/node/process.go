package node

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"
	"unsafe"

	"golang.org/x/sync/semaphore"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Process has what all work on runs needs: the store, the clock, and the engines.
type Process struct {
	Store   store.Store
	Clock   engine.Clock
	Log     *slog.Logger
	Engines map[string]engine.Engine // empty: the process executes no runs
	Host    decide.HostDefaults
	Policy  interaction.Policy // nil: people decide about every approval
	// Member returns an error if a remembered decision of the person must not be used.
	Member  func(ctx context.Context, person string) error
	Due     *DueHint    // wakes the node for a deadline stored here
	Stuck   *StuckCalls // of this process's engines
	Notices Notices
	// Journals bounds the journals that turns and forks hold in memory: MaxJournalsRead bytes.
	Journals *semaphore.Weighted
}

// Now is the current time, as a commit records it.
func (p *Process) Now() time.Time { return CommitTime(p.Clock) }

// LeaseTime returns the time by which leases are judged: the store's time, if the store has a
// clock.
func (p *Process) LeaseTime() time.Time {
	if k, ok := p.Store.(store.Timekeeper); ok {
		return StoreTime(k.Now())
	}
	return p.Now()
}

// Sleep waits for d. It returns ctx's error if that ends first.
func (p *Process) Sleep(ctx context.Context, d time.Duration) error {
	tick, stop := p.Clock.Timer(d)
	defer stop()
	select {
	case <-tick:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (p *Process) Commit(ctx context.Context, cm *store.Commit) error {
	batch := unsafe.Slice(cm, 1) //nolint:gosec // one commit; a copy of its 1 KB costs 1 % of a run
	err := p.Store.Commit(ctx, batch)[0]
	if err == nil {
		p.Notices.Committed(cm)
	}
	return err
}

func (p *Process) CommitBatch(ctx context.Context, batch []store.Commit) []error {
	errs := p.Store.Commit(ctx, batch)
	for i, err := range errs {
		if err == nil {
			p.Notices.Committed(&batch[i])
		}
	}
	return errs
}

// ConfirmedRun reads the run through Confirm, for a caller whose action needs a durable state.
func (p *Process) ConfirmedRun(ctx context.Context, id string) (run store.Run, _ error) {
	err := p.Store.Confirm(ctx, func(r store.Reader) (err error) {
		run, err = r.Run(ctx, id)
		return err
	})
	return run, err
}

// Expire removes the nodes in gone. Unless the store is a store.Local, it also removes nodes
// whose lease is over by the store's clock.
func (p *Process) Expire(ctx context.Context, now time.Time, gone []store.Node) ([]store.Node, error) {
	if local, ok := p.Store.(store.Local); ok {
		return local.ExpireSilent(ctx, now, gone)
	}
	ids := make([]string, len(gone))
	for i, n := range gone {
		ids[i] = n.ID
	}
	return p.Store.Expire(ctx, now, ids...)
}

// Command names a call that changes one run, for its errors.
type Command struct {
	Verb     string
	Run      string
	Question int // zero if about the run as a whole
}

func (cmd Command) Failed(err error) error {
	if cmd.Question == 0 {
		return fmt.Errorf("lifecycle: %s run %s: %w", cmd.Verb, cmd.Run, err)
	}
	return fmt.Errorf("lifecycle: %s question %d of run %s: %w", cmd.Verb, cmd.Question, cmd.Run, err)
}

// ErrReadAgain: the attempt of a command saw an outdated record.
var ErrReadAgain = errors.New("lifecycle: the run has changed since it was read")

// CarryOut carries out a command by compare-and-set. An attempt reads the run, checks the command, and
// returns the commit, or nil if nothing changes. It is repeated if the run changed before the commit.
// Its errors are returned unchanged.
func (p *Process) CarryOut(ctx context.Context, cmd Command, attempt func() (*store.Commit, error)) error {
	for {
		cm, err := attempt()
		if errors.Is(err, ErrReadAgain) {
			continue
		}
		if err != nil || cm == nil {
			return err
		}
		if err = p.Commit(ctx, cm); err == nil {
			p.Due.NoteRun(&cm.Run)
		}
		decide.Recycle(cm)
		if err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrConflict) {
			return cmd.Failed(err)
		}
	}
}

// IDEncoding keeps the byte order in the text, so that ids sort by time.
var IDEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID returns a unique id of 48 bits of milliseconds and 80 random bits. Ids of about the same time
// are close in an index.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	return IDEncoding.EncodeToString(b[:])
}
