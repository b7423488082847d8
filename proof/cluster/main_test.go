package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// TestMain runs a node if the environment says so: this test program is also the nodes' program,
// with the race detector if the tests have it.
func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, c nodeConfig) error { return c.serve(ctx) })
	os.Exit(m.Run())
}

// bring starts a cluster with a separate server.
func bring(t *testing.T, args ...string) *cluster {
	t.Helper()
	o, err := parse(args)
	require.NoError(t, err)
	t.Logf("seed %d", o.seed)
	c, err := newCluster(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.leave(false)) })
	return c
}

// left returns the violations as text.
func left(t *testing.T, a *findings) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, a.verdict().print(&out, false))
	return out.String()
}

// Each check finds the fault injected for it.
func TestWhatIsSpoiledIsFound(t *testing.T) {
	c := bring(t, "-nodes", "2", "-runs", "150", "-seed", "1") // it has enough runs of every kind
	spoiled := make(map[string]string)
	a, err := c.run(t.Context(), io.Discard, func(ctx context.Context) (err error) {
		for _, name := range slices.Sorted(maps.Keys(breaks)) {
			if name == "takeover" { // without chaos there is no takeover
				continue
			}
			spoiled[name], err = breaks[name].do(ctx, c)
			require.NoError(t, err, name)
		}
		return nil
	})
	require.NoError(t, err)
	for name, run := range spoiled {
		require.True(t, slices.ContainsFunc(a.violations, func(v violation) bool {
			return v.Check == breaks[name].check && v.Run == run
		}), "-break %s: no violation of %s in %s", name, breaks[name].check, left(t, a))
	}
	mine := slices.Collect(maps.Values(spoiled))
	for _, v := range a.violations {
		require.Contains(t, mine, v.Run, "nothing else is found: %+v", v)
	}

	text := left(t, a)
	require.Contains(t, text, "VIOLATION ("+checkLogs+") "+spoiled["event"])
	require.Contains(t, text, `"run_id":"`+spoiled["event"]+`"`, "the run's log is printed")
	require.Contains(t, text, "WRONG")
	var line bytes.Buffer
	require.NoError(t, a.verdict().print(&line, true))
	var v verdict
	require.NoError(t, json.Unmarshal(line.Bytes(), &v))
	require.False(t, v.Correct)
	require.Len(t, v.Violations, len(a.violations))
}

// On a server that the caller names, the program leaves nothing behind and changes nothing that was
// there.
func TestOnAServerOfSomebodyElse(t *testing.T) {
	own, err := pglocal.Start(t.Context(), pglocal.Options{})
	require.NoError(t, err)
	defer own.Stop()
	o, err := parse([]string{"-nodes", "2", "-runs", "40", "-chaos", "-kills", "1", "-restarts", "3", "-dsn",
		own.DSN(""), "-schema", "mine"})
	require.NoError(t, err)
	v, err := conduct(t.Context(), o)
	require.NoError(t, err)
	require.True(t, v.Correct, "%+v", v)
	require.Zero(t, v.Disturbances[crashing]+v.Disturbances[halting], "it is not ours to restart")

	s := &server{dsn: own.DSN(""), schema: "mine"}
	require.NoError(t, s.unused(t.Context()), "the schema was dropped")
	s.schema = "public"
	require.ErrorContains(t, s.unused(t.Context()), "schema public is there already")
}

func TestWhatNeverEndsIsNoticed(t *testing.T) {
	st := memory.New()
	defer st.Close()
	require.NoError(t, st.SetPool(t.Context(), slots.Pool{Name: sharedPool, Capacity: 1}))
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	require.NoError(t, err)
	defer client.Close()
	l := &load{client: client, ledger: newLedger()}
	require.NoError(t, l.drain(t.Context(), time.Minute))
	_, err = client.Submit(t.Context(), lifecycle.Spec{Prompt: "nobody serves"})
	require.NoError(t, err)
	require.ErrorContains(t, l.drain(t.Context(), 10*time.Millisecond), "nothing has moved for 10ms: 1 queued, 0 "+
		"running, 0 waiting")
}

// Any standstill ends the program, which reports it; a program with progress continues for any
// time.
func TestWhatStandsStillIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		still := func() string { return "2 queued" }
		err := whileItMoves(t.Context(), time.Minute, still, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.ErrorContains(t, err, "nothing has changed for 1m0s: 2 queued\ngoroutine ")
		require.ErrorContains(t, err, "TestWhatStandsStillIsEnded")

		begun := time.Now()
		clock := func() string { return time.Since(begun).Round(30 * time.Second).String() }
		require.NoError(t, whileItMoves(t.Context(), time.Minute, clock, func(ctx context.Context) error {
			cast.Pause(ctx, time.Hour)
			return ctx.Err()
		}))
		require.Equal(t, errEnding, whileItMoves(t.Context(), time.Minute, clock, func(context.Context) error {
			return errEnding
		}))
	})
}

// A server that cannot be brought back ends the chaos: without it nothing else would end.
func TestAFailedFailoverEndsTheChaos(t *testing.T) {
	gone, err := pglocal.Start(t.Context(), pglocal.Options{})
	require.NoError(t, err)
	require.NoError(t, gone.Stop())
	c := &chaos{todo: []disturbance{{harm: crashing}, {harm: killing}}, done: make(map[harm]int),
		server: &server{own: gone}}
	err = c.run(t.Context(), func() float64 { return 1 })
	require.ErrorIs(t, err, pglocal.ErrStopped)
	require.ErrorContains(t, err, "crash: ")
	require.Equal(t, map[harm]int{crashing: 1}, c.counts())
}

// A2: a slot too many is found in a pool and under a key; in a pool that was made smaller, as many
// slots may stay in use as were before.
func TestSlotsAreCounted(t *testing.T) {
	at := func(capacity, keyCapacity, a, b int) *sample {
		return &sample{
			pools: map[string]slots.Pool{"p": {Name: "p", Capacity: capacity, KeyCapacity: keyCapacity}},
			held:  map[string]int{"p": a + b},
			keys:  map[[2]string]int{{"p", "a"}: a, {"p", "b"}: b},
		}
	}
	for name, c := range map[string]struct {
		before, now *sample
		wrong       string
	}{
		"within":       {at(4, 2, 0, 0), at(4, 2, 2, 2), ""},
		"one too many": {at(4, 4, 2, 2), at(4, 4, 2, 3), "5 slots are held, the capacity is 4"},
		"one too many of a key": {at(4, 2, 1, 1), at(4, 2, 3, 1), "3 slots are held for key a, its capacity " +
			"is 2"},
		"raised":                        {at(4, 2, 2, 2), at(6, 3, 3, 3), ""},
		"lowered, and they go on":       {at(6, 3, 3, 3), at(4, 2, 3, 3), ""},
		"lowered, filled in the moment": {at(6, 3, 1, 1), at(4, 2, 3, 3), ""},
		"lowered, and one more":         {at(6, 3, 3, 3), at(4, 2, 4, 3), "7 slots are held"},
		"lowered before, and one more":  {at(4, 2, 3, 3), at(4, 2, 4, 2), "4 slots are held for key a"},
		"lowered before, fewer":         {at(4, 2, 3, 3), at(4, 2, 3, 2), ""},
	} {
		monitor := &capacity{held: make(map[string]int), most: make(map[string]int)}
		monitor.judge(c.now, c.before)
		if c.wrong == "" {
			require.Empty(t, monitor.wrong, name)
		} else {
			require.Contains(t, strings.Join(monitor.wrong, "\n"), c.wrong, name)
		}
	}
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-nodes 0":       "-nodes is 0",
		"-runs 0":        "-runs 0",
		"-kills -1":      "-kills -1",
		"-standbys 1":    "-standbys is 1 (want 0, or 2 to 8",
		"-failovers 1":   "-failovers and -asynchronous need -standbys",
		"-lease 10ms":    "-lease is 10ms, want at least 1s",
		"-break nothing": `-break is "nothing", want one of answer, end, event`,
		"now":            `unexpected argument "now"`,
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, want)
	}
}

func TestAConnectionStringKeepsWhatItHas(t *testing.T) {
	for dsn, want := range map[string]string{
		"postgres://ada:secret@host/db?sslmode=disable": "" +
			"postgres://ada:secret@host/db?application_name=node-1&sslmode=disable",
		"host=there dbname=db": "host=there dbname=db application_name='node-1'",
	} {
		got, err := connectionString(dsn, map[string]string{"application_name": "node-1"})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := connectionString("postgres://ada:secret@host:port/db", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

// R7: the pause of a harm by another program is the longest time between two acknowledged replies, and
// long turns count as interrupted unless their first attempt came to its end.
func TestPausesOfOutsideHarmsAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := newLedger(), &server{}
		o := newOutside(s, &load{}, 5)
		in, out := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- o.run(t.Context(), in) }()
		after := func(d time.Duration, do func()) {
			time.Sleep(d)
			do()
			synctest.Wait()
		}
		say := func(line string) func() {
			return func() {
				_, err := io.WriteString(out, line+"\n")
				require.NoError(t, err)
			}
		}
		sheet := newSheet(nil)
		long := func(run string, ends time.Duration, outcome string) {
			put(sheet.begins, run, 1, note{At: time.Now()})
			put(sheet.ends, run, 1, note{At: time.Now().Add(ends), Outcome: outcome})
		}
		long("long-1", time.Second, finished)
		long("long-2", time.Hour, finished)
		long("long-3", time.Hour, interrupted)
		l.acknowledged()
		after(2*time.Second, say("begin kill"))
		after(10*time.Second, say("promoted"))
		after(3*time.Second, l.acknowledged)
		after(time.Second, say("end"))
		after(2*time.Second, l.acknowledged)
		after(time.Minute, l.acknowledged)
		require.NoError(t, out.Close())
		require.NoError(t, <-done)
		require.Len(t, s.outages(), 1)
		require.Equal(t, 14*time.Second, s.outages()[0].to.Sub(s.outages()[0].from))
		got := o.judge(l, sheet)
		require.Equal(t, "no acknowledged reply for 15s; the first 3s after the promotion; "+
			"1 of 2 long turns interrupted", got[0].String())
		require.EqualError(t, o.announced("over", ""), `unknown announcement "over"`)
	})
}
