package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

var statsVerb = command.Verb{
	Name: "stats", Does: "print statistics of the runs that have not ended",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return figures(db, asJSON, func(p *printer, s *web.Stats) {
			if p.json {
				p.object(s)
				return
			}
			p.stats(s)
		})
	},
}

var poolsVerb = command.Verb{
	Name: "pools", Args: "[POOL]", Does: "list the pools, their slots and waiting runs, or change one",
	More: "With POOL and -slots it creates the pool; -was, the number of slots that you saw, changes an existing " +
		"one. The next turn on every node uses the new size. Fewer slots end no running turn. A host that configures " +
		"the pool sets its own size again when it starts.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		var size poolSize
		f.IntVar(&size.slots, "slots", 0, "the new `number` of slots of POOL")
		f.IntVar(&size.was, "was", 0, "the `number` of slots that POOL had when you saw it; refused if it has changed")
		f.IntVar(&size.perKey, "per-key", samePerKey, "the `number` of slots for the runs of one key; 0 for no limit, "+
			"-1 as it is")
		list := figures(db, asJSON, func(p *printer, s *web.Stats) {
			for i := range s.Pools {
				if p.json {
					p.object(s.Pools[i])
				}
			}
			switch {
			case p.json:
			case len(s.Pools) == 0:
				p.line(terminal.Dim, "there is no pool: the first serving host creates those of its configuration")
			default:
				p.pools(s.Pools)
			}
		})
		return func(ctx context.Context, c command.Call) (int, error) {
			if len(c.Args) == 0 && size == (poolSize{perKey: samePerKey}) {
				return list(ctx, c)
			}
			args, err := c.Want("POOL")
			switch {
			case err != nil:
				return command.Misused, err
			case size.slots == 0:
				return command.Misused, command.Misusef("want the new size: interlude pools %s -slots N", args[0])
			case size.perKey < samePerKey:
				return command.Misused, command.Misusef("-per-key is %d, want a number from 0", size.perKey)
			}
			p := newPrinter(c.Out, *asJSON)
			return db.with(ctx, once, func(cl *client) error { return size.set(ctx, cl, p, args[0]) })
		}
	},
}

// poolSize has the flags that change a pool.
type poolSize struct{ slots, was, perKey int }

const samePerKey = -1

// set changes the pool from the size that the person saw, or creates it.
func (s poolSize) set(ctx context.Context, cl *client, p *printer, name string) error {
	stats, err := cl.Stats(ctx)
	if err != nil {
		return err
	}
	pool, was := lifecycle.Pool{Name: name, Capacity: s.slots, KeyCapacity: max(0, s.perKey)}, lifecycle.Pool{}
	i := slices.IndexFunc(stats.Pools, func(stored store.PoolSurvey) bool { return stored.Name == name })
	if i < 0 && s.was != 0 {
		return command.Refusef("there is no pool %s: interlude pools lists them; without -was it is created", name)
	}
	if i >= 0 {
		stored := &stats.Pools[i]
		was = lifecycle.Pool{Name: name, Capacity: s.was, KeyCapacity: stored.KeyCapacity}
		if s.perKey == samePerKey {
			pool.KeyCapacity = stored.KeyCapacity
		}
		if s.was != stored.Capacity && stored.Capacity != s.slots {
			return s.seen(name, stored.Capacity)
		}
	}
	err = cl.SetPool(ctx, was, pool)
	if errors.Is(err, lifecycle.ErrPoolChanged) { // since the line above
		return command.Refusef("another person has just changed the pool %s: interlude pools, then decide", name)
	}
	if err != nil {
		return err
	}
	perKey := ""
	if pool.KeyCapacity > 0 {
		perKey = fmt.Sprintf(", %d for each key", pool.KeyCapacity)
	}
	if p.json {
		p.object(pool)
	} else {
		p.line(terminal.Green, fmt.Sprintf("✓ pool %s has %s%s", name, terminal.Many(s.slots, "slot"), perKey))
	}
	return p.err
}

// seen says that the person has not seen the pool's size.
func (s poolSize) seen(name string, now int) error {
	if s.was == 0 {
		return command.Refusef("the pool %s exists and has %s: add -was %[3]d to change it", name,
			terminal.Many(now, "slot"), now)
	}
	return command.Refusef("the pool %s has %s now, not %d: another person has changed it", name,
		terminal.Many(now, "slot"), s.was)
}

func figures(db *Database, asJSON *bool, show func(*printer, *web.Stats)) command.Action {
	return func(ctx context.Context, c command.Call) (int, error) {
		if _, err := c.Want(""); err != nil {
			return command.Misused, err
		}
		return db.with(ctx, once, func(cl *client) error {
			found, err := cl.Stats(ctx)
			if err != nil {
				return err
			}
			s := web.ShowStats(&found)
			p := newPrinter(c.Out, *asJSON)
			show(p, &s)
			return p.err
		})
	}
}

func (p *printer) stats(s *web.Stats) {
	p.linef("queued   %6d  %d ready, the oldest for %s; %d delayed", s.Queued, s.Ready, ago(s.OldestReady), s.Delayed)
	p.linef("running  %6d", s.Running)
	p.linef("waiting  %6d  the oldest for %s", s.Waiting, ago(s.OldestWaiting))
	p.linef("nodes    %6d", s.Nodes)
	if s.Held > 0 {
		p.line(terminal.Amber, fmt.Sprintf("held     %6d  waiting for a decision, the oldest for %s", s.Held,
			ago(s.OldestHeld)))
	}
	if s.Due > 0 {
		p.line(terminal.Amber, fmt.Sprintf("due      %6d  deadlines have passed: check that a host is serving", s.Due))
	}
	if u := s.Usage; u.InputTokens+u.OutputTokens > 0 {
		p.linef("tokens   %6d  in, %d out, USD %.2f, %.0f s of work", u.InputTokens, u.OutputTokens, u.CostUSD,
			u.WorkedSec)
	}
	if len(s.Pools) > 0 {
		p.line(terminal.Plain, "")
		p.pools(s.Pools)
	}
	if len(s.Engines) > 0 {
		p.line(terminal.Plain, "")
		p.engines(s.Engines)
	}
}

func (p *printer) pools(pools []web.PoolStats) {
	rows := make([][]string, len(pools))
	for i, s := range pools {
		perKey := "-"
		if s.KeyCapacity > 0 {
			perKey = strconv.Itoa(s.KeyCapacity)
		}
		rows[i] = []string{s.Name, fmt.Sprintf("%d of %d", s.Held, s.Capacity), perKey, strconv.Itoa(s.Ready),
			ago(s.OldestReady)}
	}
	p.table([]string{"POOL", "SLOTS", "PER KEY", "READY", "OLDEST"}, rows)
}

func (p *printer) engines(engines []web.EngineStats) {
	rows := make([][]string, len(engines))
	for i, e := range engines {
		rows[i] = []string{e.Engine, strconv.Itoa(e.Queued), strconv.Itoa(e.Nodes), ago(e.OldestReady)}
	}
	p.table([]string{"ENGINE", "QUEUED", "NODES", "OLDEST"}, rows)
}
