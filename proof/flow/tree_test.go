package flow_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

var wide = flag.Bool("wide", false, "the tree has 200 children and 50 questions, not 10 and 3")

// nodes is how many hosts serve a tree at the same time.
const nodes = 3

// branch is the input of a run in a tree. It describes the part of the tree from this run
// downwards.
type branch struct {
	Children []int `json:"children"` // how many children this run has, each of these, and so on
	Asks     int   `json:"asks"`     // how many questions the runs of the branch ask together
}

// root is the input of the tree's root.
func root() branch {
	if *wide {
		return branch{[]int{8, 24}, 50}
	}
	return branch{[]int{2, 4}, 3}
}

// child is the input of the n-th child, which gets its share of the questions.
func (b branch) child(n int) branch {
	share := func(n int) int { return b.Asks * n / b.Children[0] }
	return branch{b.Children[1:], share(n+1) - share(n)}
}

// runs is how many runs the branch has, itself included.
func (b branch) runs() int {
	if len(b.Children) == 0 {
		return 1
	}
	return 1 + b.Children[0]*b.child(0).runs()
}

// tree is an agent whose runs start children, down to the leaves; some leaves ask a question. Each
// run writes a line into the ledger when it begins and one when it ends, and returns the ids of its
// leaves.
func tree(ledger *cast.Journal[string]) engine.Engine {
	return flow.New("tree", func(c *flow.Ctx, b branch) (string, error) {
		effect := noting(ledger)
		key, err := flow.Step(c, "begin", effect)
		if err != nil {
			return "", err
		}
		name, _, _ := strings.Cut(key, "/")
		parts := []string{name}
		switch {
		case len(b.Children) > 0:
			parts, err = flow.RunAll[string](c, "part", children(b)...)
		case b.Asks > 0:
			parts[0], err = flow.Ask[string](c, "leaf", engine.Question{Kind: engine.OpenText, Prompt: "Go on?"})
		}
		if err != nil {
			return "", err
		}
		_, err = flow.Step(c, "end", effect)
		return strings.Join(parts, " "), err
	})
}

// children are the children that the run of a branch starts.
func children(b branch) []engine.Child {
	of := make([]engine.Child, b.Children[0])
	for i := range of {
		of[i] = engine.Child{Engine: "tree", InputJSON: encoded(b.child(i))}
	}
	return of
}

func encoded(b branch) json.RawMessage {
	body, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	return body
}

// killNodes submits a tree and kills its hosts in turn, each time starting a replacement. Then it
// checks the tree. It answers only some questions before each kill, so that the tree cannot end
// before the last one. Each kill waits for progress of the tree, or for some seconds: all remaining
// runs may wait for answers.
func killNodes(t *testing.T, name string) {
	t.Helper()
	d := newDrill(t, name, time.Duration(120+5**kills)*time.Second)
	var hosts [nodes]*cast.Host
	for i := range hosts {
		hosts[i] = d.start(d.host)
	}
	of := root()
	submit(d.ctx, t, d.client, lifecycle.Spec{ID: "tree", Engine: "tree", Input: encoded(of)})

	answered, lines := 0, 0
	for n := range *kills {
		before := lines
		for until := time.Now().Add(5 * time.Second); lines == before && time.Now().Before(until); rest(d.ctx) {
			answered += d.answer(of.Asks*n / *kills - answered)
			lines = len(d.noted())
		}
		d.checkAncestors(of)
		cast.Pause(d.ctx, sample.N(60*time.Millisecond))
		d.kill(hosts[n%nodes])
		hosts[n%nodes] = d.start(d.host)
	}
	for ; !d.ended("tree"); rest(d.ctx) {
		require.NoError(t, d.ctx.Err())
		answered += d.answer(of.Asks - answered)
	}
	require.Equal(t, of.Asks, answered, "each question is asked once")
	d.checkTree(of)
	d.prune(of.runs())
	for _, host := range hosts {
		d.kill(host)
	}
}

// checkAncestors requires that each open question has the path from its leaf to the root.
func (d *drill) checkAncestors(of branch) {
	d.Helper()
	page, err := d.client.Inbox(d.ctx, lifecycle.InboxQuery{Limit: 1000})
	require.NoError(d, err)
	for _, q := range page.Questions {
		require.Len(d, q.Ancestors, len(of.Children), "the path to the root")
		require.Equal(d, "tree", q.Ancestors[0])
	}
}

// prune deletes all runs. A child can be deleted as soon as a node has released it, after its
// parent's end.
func (d *drill) prune(runs int) {
	d.Helper()
	for all := 0; all < runs; rest(d.ctx) {
		require.NoError(d, d.ctx.Err(), "%d of %d runs were deleted", all, runs)
		deleted, err := d.client.Prune(d.ctx, time.Now().Add(time.Hour))
		require.NoError(d, err)
		all += deleted
	}
}

// checkTree requires that each run of the tree was started once, has succeeded, and has written its
// lines into the ledger; that the root has the ids of all leaves, each once and in their order; and
// that the events of all runs are as the contract says.
func (d *drill) checkTree(of branch) {
	d.Helper()
	lines := d.noted()
	c := treeCheck{drill: d, effects: make(map[string]int)}
	for _, key := range lines {
		run, step, _ := strings.Cut(key, "/")
		_, step, _ = strings.Cut(step, "/")
		require.False(d, step == "begin" && c.effects[run+"/end"] > 0, "%s: the stored step begins again", run)
		c.effects[run+"/"+step]++
	}
	c.leavesOf("tree", of)
	require.Equal(d, of.runs(), c.runs)
	all, err := d.store.Runs(d.ctx, store.Query{Limit: 1000})
	require.NoError(d, err)
	require.Len(d, all.Runs, c.runs, "no run but those of the tree")
	report, err := audit.Check(&c.log)
	require.NoError(d, err)
	require.Empty(d, report.Violations)
	pools, err := d.store.Pools(d.ctx)
	require.NoError(d, err)
	require.Zero(d, pools[0].Held)
	d.Logf("%d runs, %d questions, %d hosts killed, %d effects twice", c.runs, of.Asks, *kills, len(lines)-2*c.runs)
}

// treeCheck walks through a tree that has ended.
type treeCheck struct {
	*drill

	effects map[string]int // how often each line occurs in the ledger: the run, a slash, the step
	log     bytes.Buffer   // the events of the runs so far
	runs    int            // how many these are
}

// leavesOf checks a run and all runs below it, and returns the ids of its leaves.
func (c *treeCheck) leavesOf(id string, b branch) (leaves []string) {
	c.Helper()
	c.runs++
	run, err := c.store.Run(c.ctx, id)
	require.NoError(c, err)
	require.Equal(c, lifecycle.StateSucceeded, run.State, "%s: %+v", id, run.Error)
	require.Positive(c, c.effects[id+"/begin"], id)
	require.Positive(c, c.effects[id+"/end"], id)
	events, err := c.store.Events(c.ctx, id, 0, 1000)
	require.NoError(c, err)
	require.Len(c, events, int(run.Seq))
	for _, e := range events {
		c.log.Write(e.Body)
		c.log.WriteByte('\n')
	}
	below, err := c.store.Runs(c.ctx, store.Query{Parent: id, Limit: 1000})
	require.NoError(c, err)
	if len(b.Children) == 0 {
		require.Empty(c, below.Runs)
		require.Equal(c, id, run.FinalText, "the answer is that of the run")
		return []string{id}
	}
	require.Len(c, below.Runs, b.Children[0], "each child of %s is started once", id)
	for i := range below.Runs { // in the order in which they were started
		leaves = append(leaves, c.leavesOf(below.Runs[i].ID, b.child(i))...)
	}
	require.Equal(c, strings.Join(leaves, " "), run.FinalText, "each end arrives once")
	return leaves
}
