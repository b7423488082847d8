package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/store"
)

// Submit stores a new run in state queued and returns it. With an ID of the caller's own it is
// idempotent: the same id and spec again returns the run as it is by then; another spec is
// ErrSpecConflict. A spec that is wrong is a *SpecError, a pool that nobody configured
// ErrUnknownPool; nothing is stored then.
func (c *Client) Submit(ctx context.Context, spec Spec) (Run, error) {
	var err error
	if spec.WorkDir, err = absolute(spec.WorkDir); err != nil {
		return Run{}, &SpecError{"WorkDir", quote(spec.WorkDir), "an absolute folder: the process's own is not known",
			err}
	}
	if err := spec.Validate(); err != nil {
		return Run{}, err
	}
	now := stamp(c.clock)
	run, body, err := spec.record(now)
	if err != nil {
		return Run{}, err
	}
	if run.ID == "" {
		run.ID = newID(now)
	}
	if len(c.engines) > 0 && c.engines[run.Engine] == nil {
		return Run{}, &SpecError{"Engine", quote(spec.Engine), "the name of a configured engine", nil}
	}
	cm, err := submission(run, body)
	if err != nil {
		return Run{}, err
	}
	err = c.commit(ctx, cm)
	if errors.Is(err, store.ErrExists) {
		return c.again(ctx, run)
	}
	if err != nil {
		return Run{}, fmt.Errorf("lifecycle: submit run %s: %w", run.ID, err)
	}
	c.alarm.at(run.NotBefore)
	return cm.Run, nil
}

// again answers a submission whose id is taken. The caller may never submit it again, so what is
// found must be durable (J8).
func (c *Client) again(ctx context.Context, wanted Run) (stored Run, _ error) {
	err := c.store.Confirm(ctx, func(r store.Reader) (err error) {
		stored, err = r.Run(ctx, wanted.ID)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("lifecycle: submit run %s: %w", wanted.ID, err)
	}
	if stored.SpecDigest != wanted.SpecDigest {
		return Run{}, fmt.Errorf("%w: %s; use another id or the same spec", ErrSpecConflict, wanted.ID)
	}
	return stored, nil
}

// idEncoding keeps the byte order in the text, so that ids sort by time.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID is 48 bits of milliseconds and 80 random bits: unique without coordination, and near its
// neighbours in every index.
func newID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails
	return idEncoding.EncodeToString(b[:])
}
