package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
)

// ofEngine sets the engine of a run, which is otherwise "agent".
func ofEngine(name string) func(*store.Run) { return func(r *store.Run) { r.Engine = name } }

func (w *world) joinWith(id string, engines ...string) {
	w.Helper()
	require.NoError(w, w.store.Join(w.ctx, store.Node{ID: id, Lease: lease, Engines: engines}, w.now))
}

var engineCases = []promised{
	{
		"engines/runs that no node can execute delay no others",
		"However many runs of other engines are queued before them, in any pool and with any key and priority, the " +
			"claim finds its engines' runs in their order (J4).",
		func(w *world) {
			w.pool("q", 5, 1)
			for i := range 300 {
				w.submit(fmt.Sprintf("foreign-%03d", i), ofEngine("foreign"), withPriority(i%3*5),
					withKey([]string{"", "a", "k"}[i%3]), inPool([]string{"p", "q"}[i%2]))
			}
			w.submit("q1", ofEngine("own"), inPool("q"), withKey("k"))
			w.submit("p1", ofEngine("own"))
			w.submit("q2", ofEngine("own"), inPool("q"), withKey("k"), withPriority(-1))
			require.ElementsMatch(w, []string{"p1", "q1"}, append(w.claimOf("n", 1, "own"),
				w.claimOf("n", 1, "own")...))
			require.Empty(w, w.claimOf("n", 9, "own"), "its key is at its capacity")
			w.commit(ended(w.load("q1"), w.tick(), "succeeded"))
			require.Equal(w, []string{"q2"}, w.claimOf("n", 9, "own"))
		},
	},
	{
		"engines/keys take turns across engines",
		"A key has one turn for the runs of all its engines: each waiting key is served once before any is served " +
			"twice.",
		func(w *world) {
			for i := range 6 {
				w.submit(fmt.Sprintf("big-%d", i), withKey("big"), ofEngine([]string{"a", "b"}[i%2]))
			}
			w.submit("x", withKey("x"), ofEngine("b"))
			w.submit("y", withKey("y"), ofEngine("a"))
			require.ElementsMatch(w, []string{"big-0", "x", "y"}, w.claimOf("n", 3, "a", "b"))
			require.Equal(w, []string{"big-1", "big-2"}, w.claimOf("n", 2, "a", "b"))
		},
	},
	{
		"engines/suspects",
		"A run whose nodes were lost repeatedly is a suspect: only a claim for suspects of its engine, or for any " +
			"engine, picks it. It is counted with its engine, and is no longer a suspect once its turn has " +
			"started. Repeats for other reasons make no suspect (J3).",
		func(w *world) {
			w.joinWith("x", "x", "x-y")
			for i, id := range []string{"s1", "s2"} {
				r := w.running(id, ofEngine("x"))
				w.commit(lostAgain(r, w.tick(), 3, 1+i))
				r = w.load(id)
				require.True(w, r.Suspect())
			}
			for i, id := range []string{"once", "repeated"} {
				w.commit(lostAgain(w.running(id, ofEngine("x")), w.tick(), 2+i, 1-i))
				r := w.load(id)
				require.False(w, r.Suspect())
			}
			w.submit("other", ofEngine("x-y"))
			w.now = w.now.Add(time.Hour)
			require.Equal(w, []store.EngineSurvey{
				{Engine: "x", Queued: 4, OldestReady: w.load("s1").QueuedAt, Nodes: 2},
				{Engine: "x-y", Queued: 1, OldestReady: w.load("other").QueuedAt, Nodes: 2},
			}, w.survey().Engines)
			require.Empty(w, w.claimSuspects("n", 9, "a", "x-y"))
			others := w.claimOf("n", 9, "x", "x-y")
			require.ElementsMatch(w, []string{"once", "other", "repeated"}, others)
			var noSuspects bool
			claimed, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 9,
				Engines: []string{"x", "x-y"}, NoSuspects: &noSuspects, Start: Started(w.now)})
			require.NoError(w, err)
			require.Empty(w, claimed)
			require.False(w, noSuspects)
			require.Equal(w, []string{"s1"}, w.claimSuspects("n", 1, "x", "x-y"))
			started := w.load("s1")
			require.False(w, started.Suspect())
			w.commit(queuedAgain(started, w.tick()))
			require.Equal(w, []string{"s1"}, w.claimOf("n", 9, "x"), "it was put back without a loss")
			require.Equal(w, []string{"s2"}, ids(w.claim("n", 9)), "a claim for any engine")
			_, err = w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1, Suspects: true,
				Start: Started(w.now)})
			require.ErrorIs(w, err, store.ErrInvalid, "suspects of no engine")
		},
	},
	{
		"engines/of a node are kept",
		"A node is listed, and returned when it is expired, with the engines that it joined with; a node without " +
			"engines has none listed.",
		func(w *world) {
			long := strings.Repeat("x", 63)
			w.joinWith("some", "a", "b/1.x_y-z", long)
			w.joinWith("any")
			nodes, err := w.store.Nodes(w.ctx)
			require.NoError(w, err)
			require.Len(w, nodes, 3)
			require.Nil(w, nodes[0].Engines)
			require.Equal(w, []string{"a", "b/1.x_y-z", long}, nodes[2].Engines)
			_, err = w.store.Renew(w.ctx, "some", w.now)
			require.NoError(w, err)
			gone, err := w.store.Expire(w.ctx, base, "some")
			require.NoError(w, err)
			require.Len(w, gone, 1)
			require.Equal(w, []string{"a", "b/1.x_y-z", long}, gone[0].Engines)
		},
	},
	{
		"engines/are bounded",
		"A node and a claim name no engine (nil), or 1 to 1000 valid ones, sorted and without duplicates; anything " +
			"else is ErrInvalid and changes nothing.",
		func(w *world) {
			w.submit("a")
			many := make([]string, store.MaxEngines+1)
			for i := range many {
				many[i] = fmt.Sprintf("e%04d", i)
			}
			for _, engines := range [][]string{{}, {""}, {"a b"}, {"-a"}, {"é"}, {"a\x00"}, {strings.Repeat("x", 64)},
				{"b", "a"}, {"a", "a"}, many} {
				require.ErrorIs(w, w.store.Join(w.ctx, store.Node{ID: "x", Lease: lease, Engines: engines}, w.now),
					store.ErrInvalid)
				_, err := w.store.Claim(w.ctx, store.ClaimRequest{Node: "n", Now: w.now, Max: 1, Engines: engines,
					Start: Started(w.now)})
				require.ErrorIs(w, err, store.ErrInvalid)
			}
			require.Equal(w, []string{"n"}, w.nodes())
			w.joinWith("x", many[:store.MaxEngines]...)
			require.Empty(w, w.claimOf("x", 1, many[:store.MaxEngines]...))
			require.Equal(w, []string{"a"}, w.claimOf("x", 1, append([]string{"agent"},
				many[:store.MaxEngines-1]...)...))
		},
	},
	{
		"engines/are surveyed",
		"A survey lists in order the engines of the runs that want a slot, with the number of these runs, the age " +
			"of the oldest ready one and the number of nodes with the engine; an engine without a node is listed " +
			"too (J4).",
		func(w *world) {
			w.joinWith("one", "x", "y")
			w.joinWith("two", "y")
			parked := w.sticking("sticky", ofEngine("unlisted"))
			w.commit(Answered(parked, w.tick(), ""))
			w.expire("n")
			require.Empty(w, w.survey().Engines, "a sticky run's next turn wants no slot")

			later := w.submit("later", ofEngine("z"), notBefore(w.now.Add(time.Hour)), withPriority(9))
			y := w.submit("y1", ofEngine("y"))
			w.submit("y2", ofEngine("y"), withPriority(3))
			x := w.submit("x1", ofEngine("x"))
			require.Equal(w, []store.EngineSurvey{
				{Engine: "x", Queued: 1, OldestReady: x.QueuedAt, Nodes: 1},
				{Engine: "y", Queued: 2, OldestReady: y.QueuedAt, Nodes: 2},
				{Engine: "z", Queued: 1},
			}, w.survey().Engines)

			w.joinWith("any")
			require.Equal(w, []string{"x1"}, w.claimOf("one", 9, "x"))
			w.expire("two")
			w.now = later.NotBefore
			require.Equal(w, []store.EngineSurvey{
				{Engine: "y", Queued: 2, OldestReady: y.QueuedAt, Nodes: 2},
				{Engine: "z", Queued: 1, OldestReady: later.QueuedAt, Nodes: 1},
			}, w.survey().Engines, "a node that does not say counts for every engine")
			require.Equal(w, []string{"y2", "y1", "later"}, append(w.claimOf("one", 9, "y"), w.claimOf("any", 9,
				"z")...))
			require.Empty(w, w.survey().Engines)
		},
	},
}
