package web

import (
	"context"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Figures for operators: statistics, nodes, usage and feeds.

// Stats counts the runs that have not ended, on all nodes.
type Stats struct {
	Queued        int           `json:"queued"`
	Running       int           `json:"running"`
	Waiting       int           `json:"waiting"`
	Delayed       int           `json:"delayed" doc:"Queued runs whose start time has not come."`
	Ready         int           `json:"ready" doc:"Queued runs that need only a slot."`
	Held          int           `json:"held" doc:"Runs that wait for an operator's decision."`
	Due           int           `json:"due" doc:"Questions past their deadline: above 0 for long means that no node works."`
	Nodes         int           `json:"nodes"`
	OldestReady   time.Time     `json:"oldest_ready,omitzero"`
	OldestWaiting time.Time     `json:"oldest_waiting,omitzero"`
	OldestHeld    time.Time     `json:"oldest_held,omitzero"`
	Usage         Usage         `json:"usage" doc:"Usage of the runs that have not ended, so far."`
	Pools         []PoolStats   `json:"pools" nullable:"false"`
	Engines       []EngineStats `json:"engines" nullable:"false"`
}

// PoolStats is a pool with the number of runs that wait for its slots.
type PoolStats struct {
	Name        string    `json:"name"`
	Capacity    int       `json:"capacity"`
	KeyCapacity int       `json:"key_capacity,omitempty"`
	Held        int       `json:"held" doc:"Slots that runs hold."`
	Ready       int       `json:"ready"`
	OldestReady time.Time `json:"oldest_ready,omitzero"`
}

// Size is the size of a pool.
type Size struct {
	Capacity    int `json:"capacity"`
	KeyCapacity int `json:"key_capacity,omitempty" doc:"The most slots of one key; missing: no limit."`
}

type poolInput struct {
	Body struct {
		Name string `json:"name"`
		Size
		Was *Size `json:"was,omitempty" doc:"The size that the caller saw; missing: there is no such pool, and this makes it."`
	}
}

func (d *Server) setPool(ctx context.Context, c *caller, in *poolInput) error {
	b := &in.Body
	var was lifecycle.Pool
	if b.Was != nil {
		was = lifecycle.Pool{Name: b.Name, Capacity: b.Was.Capacity, KeyCapacity: b.Was.KeyCapacity}
	}
	err := c.client.SetPool(ctx, was, lifecycle.Pool{Name: b.Name, Capacity: b.Capacity, KeyCapacity: b.KeyCapacity})
	if err == nil {
		d.log.Info("web: a pool has changed", "pool", b.Name, "capacity", b.Capacity, "key_capacity", b.KeyCapacity,
			"was", was.Capacity, "key_was", was.KeyCapacity, "by", c.actor.ID)
	}
	return err
}

// EngineStats is an engine with the number of queued runs that need it.
type EngineStats struct {
	Engine      string    `json:"engine"`
	Queued      int       `json:"queued"`
	Nodes       int       `json:"nodes" doc:"Nodes that have the engine: with 0, its runs cannot be executed."`
	OldestReady time.Time `json:"oldest_ready,omitzero"`
}

func (d *Server) stats(ctx context.Context, c *caller, _ *struct{}) (*body[Stats], error) {
	s, err := c.client.Stats(ctx)
	if err != nil {
		return nil, err
	}
	return &body[Stats]{ShowStats(&s)}, nil
}

// ShowStats returns the figures as the API shows them.
func ShowStats(s *lifecycle.Stats) Stats {
	out := Stats{Queued: s.Queued, Running: s.Running, Waiting: s.Waiting, Delayed: s.Delayed, Ready: s.Ready,
		Held: s.Held, Due: s.Due, Nodes: s.Nodes, OldestReady: s.OldestReady, OldestWaiting: s.OldestWaiting,
		OldestHeld: s.OldestHeld, Usage: showUsage(s.Usage), Pools: []PoolStats{}, Engines: []EngineStats{}}
	for i := range s.Pools {
		p := &s.Pools[i]
		out.Pools = append(out.Pools, PoolStats{p.Name, p.Capacity, p.KeyCapacity, p.Held, p.Ready, p.OldestReady})
	}
	for _, e := range s.Engines {
		out.Engines = append(out.Engines, EngineStats{e.Engine, e.Queued, e.Nodes, e.OldestReady})
	}
	return out
}

// Nodes are the nodes of the store.
type Nodes struct {
	Nodes []Node `json:"nodes" nullable:"false"`
}

// Node is a node, or the tombstone of a node that left.
type Node struct {
	ID         string    `json:"id"`
	Engines    []string  `json:"engines,omitempty" nullable:"false" doc:"Missing: the node does not report its engines."`
	LeaseSec   float64   `json:"lease_sec,omitempty" doc:"The length of its lease; missing for a node that left."`
	Until      time.Time `json:"until,omitzero" doc:"When the lease ends, unless the node renews it."`
	Process    int       `json:"process,omitempty" doc:"The process id, for a node on the answering machine."`
	Dead       bool      `json:"dead,omitempty" doc:"The process has ended; the node will be removed."`
	DepartedAt time.Time `json:"departed_at,omitzero" doc:"When the node was removed; parked runs still name it."`
}

func (d *Server) nodes(ctx context.Context, c *caller, _ *struct{}) (*body[Nodes], error) {
	all, err := c.client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	out := Nodes{make([]Node, len(all))}
	for i := range all {
		out.Nodes[i] = ShowNode(&all[i])
	}
	return &body[Nodes]{out}, nil
}

// ShowNode returns the node as the API shows it.
func ShowNode(n *lifecycle.NodeStatus) Node {
	return Node{n.ID, n.Engines, n.Lease.Seconds(), n.Until, n.Process, n.Dead, n.DepartedAt}
}

// Usage of turns. Tokens and cost are set if the engine reports them.
type Usage struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd"`
	WorkedSec    float64 `json:"worked_sec" doc:"How long workers have executed the turns."`
}

// RunUsage is the usage of a run.
type RunUsage struct {
	Total Usage       `json:"total"`
	Turns []TurnUsage `json:"turns" nullable:"false"`
}

// TurnUsage is the usage of one turn.
type TurnUsage struct {
	Attempt int   `json:"attempt"`
	Usage   Usage `json:"usage"`
}

func (d *Server) usage(ctx context.Context, c *caller, in *RunPath) (*body[RunUsage], error) {
	u, err := c.client.Usage(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := RunUsage{showUsage(u.Total), make([]TurnUsage, len(u.Turns))}
	for i := range u.Turns {
		out.Turns[i] = TurnUsage{u.Turns[i].Attempt, showUsage(u.Turns[i].Usage)}
	}
	return &body[RunUsage]{out}, nil
}

// Feeds are the feeds of the store.
type Feeds struct {
	Feeds []Feed `json:"feeds" nullable:"false"`
}

// Feed is the status of a feed.
type Feed struct {
	Name      string    `json:"name"`
	MaxLagSec float64   `json:"max_lag_sec"`
	Unacked   int       `json:"unacked" doc:"The number of commits not acknowledged."`
	Oldest    time.Time `json:"oldest,omitzero" doc:"When the first event not acknowledged happened."`
	Leased    time.Time `json:"leased,omitzero" doc:"When the reader's lease ends; missing without a reader."`
	Lost      bool      `json:"lost" doc:"Events that were not acknowledged have been deleted."`
}

func (d *Server) feeds(ctx context.Context, c *caller, _ *struct{}) (*body[Feeds], error) {
	all, err := c.client.Feeds(ctx)
	if err != nil {
		return nil, err
	}
	out := Feeds{make([]Feed, len(all))}
	for i, f := range all {
		out.Feeds[i] = Feed{f.Name, f.MaxLag.Seconds(), f.Unacked, f.Oldest, f.Leased, f.Lost}
	}
	return &body[Feeds]{out}, nil
}

func showUsage(u lifecycle.Usage) Usage {
	return Usage{u.InputTokens, u.OutputTokens, u.CostUSD(), u.Worked.Seconds()}
}
