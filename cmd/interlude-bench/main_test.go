package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run measures as the command does, and returns its output.
func run(t *testing.T, args ...string) (*report, string) {
	t.Helper()
	o, err := parse(args)
	require.NoError(t, err)
	o.probeFor, o.followFor = 50*time.Millisecond, time.Second
	r, err := measure(t.Context(), o, &progress{})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, r.print(&out, o.asJSON))
	return r, out.String()
}

// I13: a round trip is six commits on every store, with any number of parked runs, and the store
// counts each of them.
func TestRoundTripTakesSixCommitsOnEveryStore(t *testing.T) {
	for name, args := range map[string][]string{
		"memory":               {"-store", "memory"},
		"sqlite":               {"-store", "sqlite"},
		"one at a time":        {"-store", "sqlite", "-concurrency", "1"},
		"without group commit": {"-store", "sqlite", "-group-commit=false"},
		"followed":             {"-store", "sqlite", "-follow"},
		"with a feed":          {"-store", "sqlite", "-feed"},
		"beside parked runs":   {"-store", "sqlite", "-parked", "100"},
		"postgres":             {"-store", "postgres", "-parked", "100", "-finished", "100"},
		"by two nodes":         {"-store", "postgres", "-across"},
		"floor of sqlite":      {"-store", "sqlite", "-floor", "-concurrency", "7"},
		"floor of postgres":    {"-store", "postgres", "-floor"},
		"floor of one flush":   {"-store", "postgres", "-floor", "-group-commit=false"},
	} {
		t.Run(name, func(t *testing.T) {
			r, out := run(t, append([]string{"-runs", "60", "-concurrency", "16", "-deadlines", "0", "-json"},
				args...)...)
			commits := 6.0
			if r.Across { // the other node commits the reply
				commits = 5
			}
			require.InDelta(t, commits, r.CommitsPerRun, 0.001)
			require.LessOrEqual(t, r.GoroutinesLeft, 0, "nothing outlives the host")
			require.Greater(t, r.RunsPerS, 0.0)
			require.Greater(t, r.ReplyP50, 0.0)
			require.GreaterOrEqual(t, r.ReplyP99, r.ReplyP50)
			if r.Store != "memory" {
				require.Greater(t, r.FlushesPerRun, 0.0)
				require.Greater(t, r.CeilingRatio, 0.0)
				require.Greater(t, r.FlushP50, 0.0)
			}
			require.Equal(t, strings.HasPrefix(name, "floor"), r.FloorRatio > 0)
			if r.Parked > 0 {
				require.Greater(t, r.Recovery, 0.0)
				require.Zero(t, r.RestartCommits, "J7")
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			var last map[string]any
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
			for _, field := range []string{
				"store", "runs", "concurrency", "parked", "runs_per_s", "reply_p50_ms", "reply_p99_ms",
				"commits_per_run", "flushes_per_run", "rows_per_run",
				"bytes_per_run", "allocs_per_run", "rss_mb", "claim_p50_ms", "deadlines_per_s", "ceiling_rows_per_s",
				"ceiling_ratio", "flush_p50_ms",
			} {
				require.Contains(t, last, field)
			}
		})
	}
}

// The deadlines leave enough time for parking, also on a store that flushes each commit.
func TestDeadlinesComeAfterParking(t *testing.T) {
	require.Equal(t, 5*time.Second, parkingTime(10000, 50000))
	require.Equal(t, 102*time.Second, parkingTime(10000, 100), "three times the time of 20,000 commits, at 600 per "+
		"second")
	require.Equal(t, 2300*time.Millisecond, parkingTime(1000, 0))
}

// D3: deadlines that fall due together fire once each, on every store. F8: every follower sees
// every event in order, and a long log is replayed from its beginning.
func TestDeadlinesAndReaders(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			r, out := run(t, "-store", kind, "-runs", "100", "-concurrency", "16", "-deadlines", "300", "-followers",
				"20", "-replay", "3000", "-soak", "1s")
			require.Greater(t, r.DeadlinesPerS, 0.0)
			require.Greater(t, r.FollowersEPS, 0.0)
			require.Greater(t, r.ReplayEPS, 0.0)
			require.NotNil(t, r.Soak)
			require.LessOrEqual(t, r.Soak.GoroutinesAfter, r.Soak.GoroutinesBefore)
			for _, line := range []string{"round trips", "deadlines", "followers", "replay", "soak"} {
				require.Contains(t, out, line)
			}
		})
	}
}

// The caller's file is not removed, and a second load can use it again, with any content left by
// the first.
func TestAFileOfTheCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	for range 2 {
		run(t, "-db", path, "-runs", "50", "-concurrency", "4", "-parked", "50", "-deadlines", "20")
	}
	require.FileExists(t, path)
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-store mysql":                          `-store is "mysql", want memory, sqlite or postgres`,
		"-dsn x":                                "-dsn, -across and -nodes need -store postgres",
		"-store memory -db x":                   "-db needs -store sqlite",
		"-idle 1s":                              "-standby, -idle and -transact need -nodes",
		"-store postgres -nodes 1 -transact -1": "must not be negative",
		"-store postgres -nodes 1 -standby 1s -dsn x": "-standby a private server",
		"-runs 0":               "-runs is 0",
		"-concurrency 100000":   "-concurrency 100000",
		"-parked -1":            "must not be negative",
		"-children 1001":        "-children is 1001, want 0 to 1000",
		"now":                   `unexpected argument "now"`,
		"-concurrency plenty":   "invalid value",
		"-group-commit=perhaps": "invalid boolean",
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, want)
	}
}

// K9: with parked runs for other people, a person's inbox has the questions for the person's group.
func TestInboxPageHasWhatTheGroupIsAsked(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			r, out := run(t, "-store", kind, "-runs", "20", "-concurrency", "8", "-deadlines", "0", "-inbox", "500",
				"-parked", "300")
			require.Equal(t, 10, r.InboxPage)
			require.Greater(t, r.InboxP50, 0.0)
			require.GreaterOrEqual(t, r.InboxP99, r.InboxP50)
			require.Contains(t, out, "first page of an inbox")
		})
	}
}

// M3: a run continues once each of its children has ended.
func TestRunGoesOnOnceItsChildrenHaveEnded(t *testing.T) {
	r, out := run(t, "-store", "memory", "-runs", "20", "-concurrency", "8", "-deadlines", "0", "-children", "30")
	require.Greater(t, r.ChildrenEnded, 0.0)
	require.Contains(t, out, "children: started")
}

// R4: several nodes share the round trips, and a turn takes the lock of its pool about once. Hints
// start the runs of the host's transactions.
func TestNodesShareTheRoundTrips(t *testing.T) {
	nodes := func() (*report, string) {
		return run(t, "-store", "postgres", "-nodes", "3", "-runs", "60", "-concurrency", "2", "-idle", "10ms",
			"-transact", "40")
	}
	r, out := nodes()
	// On a busy machine, nodes may not have registered yet, or may look for a run before the first node has claimed it.
	for begun := time.Now(); r.ClaimsPerTurn > 1.5; r, out = nodes() {
		require.Less(t, time.Since(begun), time.Minute, "a turn takes %f claims", r.ClaimsPerTurn)
	}
	require.Greater(t, r.TransactionsPerRun, 2.0)
	require.Greater(t, r.HintShare, 0.0)
	require.GreaterOrEqual(t, r.HintedP99, r.HintedP50)
	require.InDelta(t, 6, r.CommitsPerRun, 0.001)
	require.LessOrEqual(t, r.GoroutinesLeft, 0)
	require.Contains(t, out, "locking claims a turn")
}

// The floor is the same work: a write that does not find its version fails, as in the library.
func TestTheFloorIsGuarded(t *testing.T) {
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			o, err := parse([]string{"-store", store, "-runs", "1", "-floor"})
			require.NoError(t, err)
			p, err := newPlace(t.Context(), o)
			require.NoError(t, err)
			defer p.remove()
			for name, changes := range map[string][]change{
				"a row that exists": {{key: 1}, {key: 1}},
				"no row":            {{key: 1, from: 1}},
				"a stale row":       {{key: 1, from: 1}},
			} {
				err := p.bare(t.Context(), []byte("record"), func(write guarded) error {
					if name == "a stale row" {
						for from := range int64(2) {
							require.NoError(t, write(t.Context(), []change{{key: 1, from: from}}))
						}
					}
					return write(t.Context(), changes)
				})
				require.Error(t, err, name)
			}
		})
	}
}
