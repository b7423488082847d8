package lifecycle

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// sweepLimit bounds one call of CleanUp.
const sweepLimit = time.Minute

// leftovers has the engines end what dead workers of this machine left, at the start and from time
// to time. Reaping alone does not find all of it: a run that was canceled, ended or taken over by
// another machine before this one looked is no orphan here (E7, J11).
func (n *node) leftovers(ctx context.Context) error {
	said := make(map[string]string) // by engine: what was logged last
	for {
		for _, name := range slices.Sorted(maps.Keys(n.engines)) {
			s, ok := n.engines[name].(engine.ProcessCleaner)
			if !ok {
				continue
			}
			text := ""
			if err := n.sweepEngine(ctx, name, s); err != nil && ctx.Err() == nil {
				text = err.Error()
			}
			if text != said[name] && text != "" {
				n.log.Warn("processes of dead workers may be left", "engine", name, "err", text)
			}
			said[name] = text
		}
		if n.rest(ctx, n.cfg.Lease) != nil {
			return nil
		}
	}
}

func (n *node) sweepEngine(ctx context.Context, name string, s engine.ProcessCleaner) error {
	what := EngineCall{Engine: name, Method: "CleanUp"}
	if slices.ContainsFunc(n.stuck.list(), func(c EngineCall) bool {
		return c.Engine == name && c.Method == what.Method
	}) {
		return errors.New("the last call has not returned yet")
	}
	return n.call(ctx, sweepLimit, what, s.CleanUp)
}
