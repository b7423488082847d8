package console

import (
	"context"
	"flag"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

var nodesVerb = command.Verb{
	Name: "nodes", Does: "list the nodes that execute runs, and nodes that left",
	More: "A node that left is listed as long as parked runs name it. A process is shown only on its own machine.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			p := newPrinter(c.Out, *asJSON)
			return db.with(ctx, once, func(cl *client) error { return listNodes(ctx, cl, p) })
		}
	},
}

func listNodes(ctx context.Context, cl *client, p *printer) error {
	nodes, err := cl.Nodes(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if p.json {
			p.object(web.ShowNode(n))
		}
		process, engines := "-", "any"
		if n.Process > 0 {
			process = strconv.Itoa(n.Process)
		}
		if len(n.Engines) > 0 {
			engines = strings.Join(n.Engines, " ")
		}
		if !n.DepartedAt.IsZero() {
			engines = "-"
		}
		rows[i] = []string{n.ID, nodeState(n), process, engines}
	}
	switch {
	case p.json:
	case len(rows) == 0:
		p.line(terminal.Dim, "no node is serving")
	default:
		p.table([]string{"NODE", "STATE", "PROCESS", "ENGINES"}, rows)
	}
	return p.err
}

func nodeState(n *lifecycle.NodeStatus) string {
	switch {
	case !n.DepartedAt.IsZero():
		return "left " + ago(n.DepartedAt) + " ago"
	case n.Dead:
		return "dead, to be removed"
	default:
		return "lease ends " + until(n.Until)
	}
}
