package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var wide = flag.Bool("wide", false, "the tree has 200 children and 50 questions, not 10 and 3")

// nodes are how many hosts serve a tree at the same time.
const nodes = 3

// branch is the input of a run of a tree: how many children it has, and each of them, and how many
// questions it asks together with all runs below it.
type branch struct {
	Children []int `json:"children"`
	Asks     int   `json:"asks"`
}

// root is the input of the tree's root.
func root() branch {
	if *wide {
		return branch{[]int{8, 24}, 50}
	}
	return branch{[]int{2, 4}, 3}
}

// child is the input of one of the children.
func (b branch) child(n int) branch {
	share := func(n int) int { return b.Asks * n / b.Children[0] }
	return branch{b.Children[1:], share(n+1) - share(n)}
}

// runs are how many runs the branch has, with itself.
func (b branch) runs() int {
	if len(b.Children) == 0 {
		return 1
	}
	return 1 + b.Children[0]*b.child(0).runs()
}

// tree starts runs of its own down to the leaves, some of which ask. Each run has an effect at its
// beginning and one at its end, which are lines of the ledger, and returns the names of its leaves.
func tree(ledger string) engine.Engine {
	return flow.New("tree", func(c *flow.Ctx, b branch) (string, error) {
		effect := func(ctx context.Context) (string, error) { return note(ctx, ledger) }
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

// children are what a run of a tree starts.
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

// M3 J9: three hosts serve a tree of three levels, and one after the other is killed.
func TestM3TreeSurvivesKillsOnSQLite(t *testing.T) {
	killNodes(t, filepath.Join(t.TempDir(), "runs.db"))
}

func TestM3TreeSurvivesKillsOnPostgreSQL(t *testing.T) {
	killNodes(t, pgtest.DSN(t))
}

// killNodes submits a tree, kills one of its hosts after the other and starts it again, and then checks
// what has become of the tree. Of the questions so many are answered before a kill that some are left
// for each: so the tree is never over before the last one. Each kill waits until something was done
// since the last one.
func killNodes(t *testing.T, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(120+5**kills)*time.Second)
	defer cancel()
	s, client := opened(ctx, t, name)
	ledger := filepath.Join(t.TempDir(), "ledger")
	var hosts [nodes]*exec.Cmd
	for i := range hosts {
		hosts[i] = start(ctx, t, name, ledger)
	}
	of := root()
	submit(ctx, t, client, lifecycle.Spec{ID: "tree", Engine: "tree", Input: encoded(of)})

	answered, lines := 0, 0
	reply := func(most int) {
		t.Helper()
		page, err := client.Inbox(ctx, lifecycle.InboxQuery{Limit: 1000})
		require.NoError(t, err)
		for _, q := range page.Questions[:min(len(page.Questions), max(0, most-answered))] {
			require.Len(t, q.Ancestors, len(of.Children), "the path to the root")
			require.Equal(t, "tree", q.Ancestors[0])
			_, err := client.Reply(ctx, q.RunID, lifecycle.Reply{ID: q.Question.ID, Text: q.RunID})
			require.NoError(t, err)
			answered++
		}
	}
	for n := range *kills {
		for before := lines; lines == before; rest(ctx) {
			require.NoError(t, ctx.Err(), "%d kills", n)
			reply(of.Asks * n / *kills)
			lines = len(noted(t, ledger))
		}
		for until := time.Now().Add(rand.N(60 * time.Millisecond)); time.Now().Before(until); {
			rest(ctx)
		}
		kill(t, hosts[n%nodes])
		hosts[n%nodes] = start(ctx, t, name, ledger)
	}
	for ; !ended(ctx, t, client, []string{"tree"}); rest(ctx) {
		require.NoError(t, ctx.Err())
		reply(of.Asks)
	}
	require.Equal(t, of.Asks, answered, "each question is asked once")
	checkTree(ctx, t, s, of, ledger)
	forgotten := 0
	for ; forgotten < of.runs(); rest(ctx) { // as soon as a node has seen that the children need not stay
		require.NoError(t, ctx.Err(), "%d of %d runs were deleted", forgotten, of.runs())
		deleted, err := client.Prune(ctx, time.Now().Add(time.Hour))
		require.NoError(t, err)
		forgotten += deleted
	}
	for _, host := range hosts {
		kill(t, host)
	}
}

// noted returns the lines of the ledger.
func noted(t *testing.T, ledger string) []string {
	t.Helper()
	body, err := os.ReadFile(ledger)
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return strings.Fields(string(body))
}

// checkTree requires that each run of the tree was started once, has succeeded and has had its effects;
// that the names of the leaves have come up to the root, each once and in their order; and that the
// events of all runs are what the contract says.
func checkTree(ctx context.Context, t *testing.T, s store.Store, of branch, ledger string) {
	t.Helper()
	effects := make(map[string]int)
	lines := noted(t, ledger)
	for _, key := range lines {
		run, step, _ := strings.Cut(key, "/")
		_, step, _ = strings.Cut(step, "/")
		require.False(t, step == "begin" && effects[run+"/end"] > 0, "%s: the kept step begins again", run)
		effects[run+"/"+step]++
	}
	var log bytes.Buffer
	runs := 0
	var leavesOf func(id string, b branch) []string
	leavesOf = func(id string, b branch) (leaves []string) {
		runs++
		run, err := s.Run(ctx, id)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State, "%s: %+v", id, run.Error)
		require.Positive(t, effects[id+"/begin"], id)
		require.Positive(t, effects[id+"/end"], id)
		events, err := s.Events(ctx, id, 0, 1000)
		require.NoError(t, err)
		require.Len(t, events, int(run.Seq))
		for _, e := range events {
			log.Write(e.Body)
			log.WriteByte('\n')
		}
		below, err := s.Runs(ctx, store.Query{Parent: id, Limit: 1000})
		require.NoError(t, err)
		if len(b.Children) == 0 {
			require.Empty(t, below.Runs)
			require.Equal(t, id, run.FinalText, "the answer is that of the run")
			return []string{id}
		}
		require.Len(t, below.Runs, b.Children[0], "each child of %s is started once", id)
		for i := range below.Runs { // in the order in which they were started
			leaves = append(leaves, leavesOf(below.Runs[i].ID, b.child(i))...)
		}
		require.Equal(t, strings.Join(leaves, " "), run.FinalText, "each end arrives once")
		return leaves
	}
	leavesOf("tree", of)
	require.Equal(t, of.runs(), runs)
	all, err := s.Runs(ctx, store.Query{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, all.Runs, runs, "no run but those of the tree")
	report, err := audit.Check(&log)
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	pools, err := s.Pools(ctx)
	require.NoError(t, err)
	require.Zero(t, pools[0].Held)
	t.Logf("%d runs, %d questions, %d hosts killed, %d effects twice", runs, of.Asks, *kills, len(lines)-2*runs)
}
