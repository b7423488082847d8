// Interlude-bench measures interlude's round trip: a host submits a run, a turn asks, a person
// replies immediately, and the next turn finishes the run. The engine does nothing.
//
//	go run ./cmd/interlude-bench -store sqlite -runs 10000 -concurrency 256
//	go run ./cmd/interlude-bench -store sqlite -runs 10000 -concurrency 256 -parked 1000000
//	go run ./cmd/interlude-bench -store sqlite -runs 10000 -concurrency 256 -group-commit=false
//	go run ./cmd/interlude-bench -store sqlite -runs 10000 -concurrency 256 -floor
//	go run ./cmd/interlude-bench -store postgres -runs 10000 -concurrency 256
//
// With -store postgres it starts a private server from the installed binaries, with PostgreSQL's
// default durability, unless -dsn names a server.
//
// It also measures 10,000 deadlines that fall due together, a person's inbox (-inbox), a run that
// waits for children (-children), followers of live runs (-followers), the replay of a long log
// (-replay), and a host at half its speed for some time (-soak). With -json the last line is one
// object with all results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"time"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/engine"
)

type options struct {
	store       string
	db          string
	dsn         string
	across      bool
	nodes       int
	standby     time.Duration
	idle        time.Duration
	transact    int
	finished    int
	runs        int
	concurrency int
	parked      int
	deadlines   int
	inbox       int
	children    int
	followers   int
	replay      int
	soak        time.Duration
	follow      bool
	feed        bool
	group       bool
	floor       bool
	telemetry   string
	asJSON      bool
	profile     string
	allocs      string

	probeFor  time.Duration // duration of each disk probe, before and after
	followFor time.Duration // duration of the followers' messages
}

func parse(args []string) (options, error) {
	o := options{probeFor: 1500 * time.Millisecond, followFor: 10 * time.Second}
	f := flag.NewFlagSet("interlude-bench", flag.ContinueOnError)
	f.StringVar(&o.store, "store", "sqlite", "the store: memory, sqlite or postgres")
	f.StringVar(&o.db, "db", "", "the SQLite `file`; default: a temporary one")
	f.StringVar(&o.dsn, "dsn", "", "the PostgreSQL `database`; default: a private server")
	f.BoolVar(&o.across, "across", false, "reply on a different node than the one that executes (postgres)")
	f.IntVar(&o.nodes, "nodes", 0, "number of nodes, each with a separate store, that share the round trips, and "+
		"whose claims and transactions are counted (postgres); no other phase is measured")
	f.DurationVar(&o.standby, "standby", 0, "delay of a synchronous standby of the private server (-nodes)")
	f.DurationVar(&o.idle, "idle", 0, "duration in which the transactions of idle nodes are counted (-nodes)")
	f.IntVar(&o.transact, "transact", 0, "number of runs to submit in transactions of the host's, 32 at one time, "+
		"with notifications and without (-nodes)")
	f.IntVar(&o.runs, "runs", 10000, "number of round trips")
	f.IntVar(&o.concurrency, "concurrency", 256, "number of simultaneous round trips")
	f.IntVar(&o.parked, "parked", 0, "number of parked runs, left by a process that died")
	f.IntVar(&o.finished, "finished", 0, "number of runs that have ended before")
	f.IntVar(&o.deadlines, "deadlines", 10000, "number of deadlines that fall due together, after the round trips")
	f.IntVar(&o.inbox, "inbox", 0, "number of open questions for 50 groups, ten per run, while the first page of an "+
		"inbox is read; parked runs then wait for other people")
	f.IntVar(&o.children, "children", 0, "number of children of a run, which all ask and are answered together")
	f.IntVar(&o.followers, "followers", 0, "number of readers that follow as many live runs, at 1,000 events/s "+
		"together")
	f.IntVar(&o.replay, "replay", 0, "number of `events` of one run to replay")
	f.DurationVar(&o.soak, "soak", 0, "duration at half the measured speed, with pruning")
	f.BoolVar(&o.follow, "follow", false, "follow the events of each run with a reader")
	f.BoolVar(&o.feed, "feed", false, "read and acknowledge the events of all runs with one reader of a feed")
	f.BoolVar(&o.group, "group-commit", true, "let simultaneous commits share a flush (sqlite, postgres)")
	f.BoolVar(&o.floor, "floor", false, "also make the six writes of each round trip without the library, and print "+
		"the ratio to that speed (sqlite, postgres)")
	f.StringVar(&o.telemetry, "telemetry", "none", "parts of OpenTelemetry's SDK that process the round trips: "+
		"none, observer (only the library's part), metrics, traces or all")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object on the last line")
	f.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the round trips to the `file`")
	f.StringVar(&o.allocs, "memprofile", "", "write a profile of all allocations to the `file`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if _, err := command.FromEnvironment(f, "INTERLUDE_BENCH_"); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.store != "memory" && o.store != "sqlite" && o.store != "postgres":
		return o, fmt.Errorf("-store is %q, want memory, sqlite or postgres", o.store)
	case o.store != "sqlite" && o.db != "":
		return o, errors.New("-db needs -store sqlite")
	case o.store != "postgres" && (o.dsn != "" || o.across || o.nodes != 0):
		return o, errors.New("-dsn, -across and -nodes need -store postgres")
	case o.floor && (o.store == "memory" || o.nodes > 0):
		return o, errors.New("-floor needs -store sqlite or postgres, without -nodes")
	case o.nodes == 0 && (o.standby != 0 || o.idle != 0 || o.transact != 0) || o.standby != 0 && o.dsn != "":
		return o, errors.New("-standby, -idle and -transact need -nodes, and -standby a private server")
	case o.standby < 0 || o.idle < 0 || o.transact < 0:
		return o, errors.New("-standby, -idle and -transact must not be negative")
	case o.nodes < 0 || o.nodes > maxNodes:
		return o, fmt.Errorf("-nodes is %d, want 0 to %d", o.nodes, maxNodes)
	case o.runs < 1 || o.concurrency < 1 || o.concurrency > 10000:
		return o, fmt.Errorf("-runs is %d and -concurrency %d, want at least 1, and a concurrency of at most 10000",
			o.runs, o.concurrency)
	case o.parked < 0 || o.finished < 0 || o.deadlines < 0 || o.followers < 0 || o.replay < 0 || o.soak < 0 ||
		o.inbox < 0:
		return o, errors.New("-parked, -finished, -deadlines, -inbox, -followers, -replay and -soak must not be " +
			"negative")
	case o.children < 0 || o.children > engine.MaxChildren:
		return o, fmt.Errorf("-children is %d, want 0 to %d", o.children, engine.MaxChildren)
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "interlude-bench:", terminal.Text(err.Error()))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := measure(ctx, o, newProgress(os.Stderr))
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted; no measurement is complete")
		}
		stop()
		fmt.Fprintln(os.Stderr, "interlude-bench:", terminal.Text(err.Error()))
		os.Exit(1) //nolint:gocritic // stop was called
	}
	if err := r.print(os.Stdout, o.asJSON); err != nil {
		os.Exit(1)
	}
}

func measure(ctx context.Context, o options, p *progress) (*report, error) {
	place, err := newPlace(ctx, o)
	if err != nil {
		return nil, err
	}
	defer place.remove()
	goroutines := runtime.NumGoroutine()
	r := &report{
		Store: o.store, Runs: o.runs, Concurrency: o.concurrency, Parked: o.parked, Finished: o.finished,
		GroupCommit: o.group, Followed: o.follow, Feed: o.feed,
		Nodes: o.nodes, Across: o.across, Telemetry: o.telemetry,
	}
	if o.nodes > 0 {
		return r, r.measureNodes(ctx, place, o, p)
	}
	if err := place.seed(ctx, o.parked, o.finished, p); err != nil {
		return nil, fmt.Errorf("park %d runs, finish %d: %w", o.parked, o.finished, err)
	}
	h, err := r.startHost(ctx, place, p)
	if err != nil {
		return nil, err
	}
	err = r.phases(ctx, o, place, h, p)
	err = errors.Join(err, h.leave())
	r.GoroutinesLeft = settledGoroutines(goroutines) - goroutines
	return r, err
}

func (r *report) phases(ctx context.Context, o options, place *place, h *host, p *progress) error {
	before, err := place.probe(ctx, r.rowBytes())
	if err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
	}
	err = r.roundTrips(ctx, h, o, p)
	pprof.StopCPUProfile()
	if err == nil && o.allocs != "" {
		err = writeAllocs(o.allocs)
	}
	if err != nil {
		return err
	}
	after, err := place.probe(ctx, r.rowBytes())
	if err != nil {
		return fmt.Errorf("probe the disk: %w", err)
	}
	r.compare(before, after)
	if o.floor {
		if r.FloorRuns, err = place.floor(ctx, r.rowBytes()); err != nil {
			return fmt.Errorf("write without the library: %w", err)
		}
		r.FloorRatio = r.RunsPerS / r.FloorRuns
	}
	for _, phase := range []struct {
		wanted bool
		run    func() error
	}{
		{o.deadlines > 0, func() error { return r.fireDeadlines(ctx, h, o.deadlines, p) }},
		{o.inbox > 0, func() error { return r.readInbox(ctx, h, o.inbox, p) }},
		{o.children > 0, func() error { return r.endChildren(ctx, h, o.children, p) }},
		{o.followers > 0, func() error { return r.followers(ctx, h, o, p) }},
		{o.replay > 0, func() error { return r.replay(ctx, h, o.replay, p) }},
		{o.soak > 0, func() error { return r.soak(ctx, place, h, o, p) }},
	} {
		if phase.wanted {
			if err := phase.run(); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
