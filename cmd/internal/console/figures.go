package console

import (
	"context"
	"flag"
	"fmt"
	"strconv"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
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
	Name: "pools", Does: "list the pools, their slots, and the runs that wait for one",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return figures(db, asJSON, func(p *printer, s *web.Stats) {
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
	},
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
