package lifecycle

import (
	"context"

	"github.com/interlude-go/interlude/store"
)

// saying is a store that returns the given record for each run, or the given error.
type saying struct {
	store.Store
	run       Run
	err, spec error
}

func (s saying) Run(context.Context, string) (Run, error) { return s.run, s.err }

func (s saying) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

func (s saying) Spec(ctx context.Context, id string) ([]byte, error) {
	if s.spec != nil {
		return nil, s.spec
	}
	return s.Store.Spec(ctx, id)
}
