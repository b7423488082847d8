package console

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

var doctorVerb = command.Verb{
	Name: "doctor", Does: "find problems of database and hosts, with remedies",
	More: "It changes nothing. It reads every page of a SQLite file. The exit status is 1 if a problem was found.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			if err := db.resolve(); err != nil {
				return command.Misused, err
			}
			p := newPrinter(c.Out, *asJSON)
			found, err := db.examine(ctx)
			if err != nil {
				return command.Failed, err
			}
			status := command.Succeeded
			for _, f := range found {
				if p.finding(f); !f.OK {
					status = command.Failed
				}
			}
			return status, p.err
		}
	},
}

type Finding struct {
	About string `json:"about"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Do    string `json:"do,omitempty"` // what to do if it is not OK
}

func (p *printer) finding(f Finding) {
	if p.json {
		p.object(f)
		return
	}
	style, mark := terminal.Green, "✓ "
	if !f.OK {
		style, mark = terminal.Red, "✗ "
	}
	p.write(p.paint(style, mark) + fmt.Sprintf("%-12s", f.About) +
		strings.TrimLeft(terminal.Wrap(terminal.Line(f.Found), strings.Repeat(" ", 14)), " "))
	if f.Do != "" {
		p.text(terminal.Dim, "→ "+f.Do, strings.Repeat(" ", 14))
	}
}

// examine makes all checks. With a wrong schema, nothing else can be read.
func (d *Database) examine(ctx context.Context) ([]Finding, error) {
	m, err := d.inspect(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		wrong := Finding{About: "schema", Found: terminal.Line(err.Error())}
		wrong.Found, wrong.Do = split(d.explain(err))
		return []Finding{wrong}, nil
	}
	found := []Finding{{About: "schema", OK: true, Found: fmt.Sprintf("%s is at version %d, and complete", d, m.To)}}
	cl, err := d.client(ctx, once)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	rest, err := d.examineHosts(ctx, cl)
	return append(found, rest...), err
}

// split divides an error at its last colon into the problem and the remedy.
func split(err error) (wrong, do string) {
	text := terminal.Line(err.Error())
	if i := strings.LastIndex(text, ": "); i > 0 {
		return text[:i], text[i+2:]
	}
	return text, "see docs/errors.md"
}

// examineHosts checks whether nodes serve, and what waits for an operator.
func (d *Database) examineHosts(ctx context.Context, cl *client) ([]Finding, error) {
	s, err := cl.Stats(ctx)
	if err != nil {
		return nil, err
	}
	nodes, err := cl.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	alive, dead := 0, 0
	for i := range nodes {
		switch n := &nodes[i]; {
		case n.Dead:
			dead++
		case n.DepartedAt.IsZero():
			alive++
		}
	}
	work := s.Ready + s.Running + s.Due
	found := []Finding{
		judge("nodes", alive > 0 || work == 0, fmt.Sprintf("%d serve, for %s",
			alive, terminal.Many(work, "ready or running run")), "start a host: without one no run continues"),
		judge("dead nodes", dead == 0, fmt.Sprint(dead), "any serving host removes them, and recovers their runs"),
		judge("deadlines", s.Due == 0, fmt.Sprintf("%d overdue", s.Due), "a serving host fires them immediately: "+
			"check that one is serving, and its log"),
		judge("held runs", s.Held == 0, fmt.Sprint(s.Held), "interlude runs -held lists them, and show prints the "+
			"reason"),
	}
	for _, e := range s.Engines {
		if e.Nodes == 0 {
			found = append(found, judge("engine", false, fmt.Sprintf("%s wait for %s, which no node has",
				terminal.Many(e.Queued, "run"), e.Engine), "start a host with an engine of this name"))
		}
	}
	for i := range s.Pools {
		if p := &s.Pools[i]; p.Ready > 0 && p.Held >= p.Capacity {
			found = append(found, judge("pool", false, fmt.Sprintf("%s is full, and %s wait, the oldest for %s", p.Name,
				terminal.Many(p.Ready, "run"), ago(p.OldestReady)), "if this lasts, add capacity to the pool in the "+
				"host's configuration"))
		}
	}
	return found, nil
}

func judge(about string, ok bool, found, do string) Finding {
	if ok {
		do = ""
	}
	return Finding{about, ok, found, do}
}
