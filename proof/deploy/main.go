// Command deploy is a rolling deploy as it goes wrong on ordinary days: three nodes, each a
// process, are replaced one after the other by those of the next version, by SIGTERM and SIGKILL in
// turn, while runs are submitted, people reply, agents answer 503 in a third of their turns, and
// the sessions of one version are refused by the other. Then it judges, from what people were told:
// no run failed by the deploy, no accepted answer was lost, and each end is explained.
//
//	go run ./proof/deploy -runs 2000                        on a SQLite file
//	go run ./proof/deploy -runs 2000 -postgres -kills 20    on PostgreSQL; nodes are killed in between, too
//	go run ./proof/deploy -runs 2000 -earlier               the first version is built with an earlier library
//	go run ./proof/deploy -without retry                    takes a safeguard away: the judge must find it
//
// The safeguards are retry (Spec.Retry), repeat (Spec.Repeatable), grace (Config.Grace until turns
// are done; nodes are then replaced by SIGTERM alone, and turns may not be repeated) and patience
// (an engine that does not understand a session puts the turn off, instead of refusing the
// session).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// options are the command line.
type options struct {
	runs     int
	kills    int
	seed     uint64
	postgres bool
	earlier  bool
	orderly  bool
	without  string
	lease    time.Duration
}

var safeguards = []string{"retry", "repeat", "grace", "patience"}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("deploy", flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 300, "how many runs")
	f.IntVar(&o.kills, "kills", 0, "how many times a node is killed beside the deploy")
	f.Uint64Var(&o.seed, "seed", 0, "what the runs follow from; 0: a new one")
	f.BoolVar(&o.postgres, "postgres", false, "on a private PostgreSQL server instead of a SQLite file")
	f.BoolVar(&o.earlier, "earlier", false, "build the first version with the library of the commit in earlier.txt")
	f.BoolVar(&o.orderly, "orderly", false, "replace nodes by SIGTERM alone, and let no turn be repeated")
	f.StringVar(&o.without, "without", "", fmt.Sprintf("a safeguard to take away, of %v", safeguards))
	f.DurationVar(&o.lease, "lease", time.Second, "the nodes' lease, at least 1s")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	case o.runs < 1 || o.kills < 0 || o.lease < time.Second:
		return o, fmt.Errorf("-runs is %d (at least 1), -kills %d (at least 0), -lease %s (at least 1s)", o.runs,
			o.kills, o.lease)
	case o.without != "" && !slices.Contains(safeguards, o.without):
		return o, fmt.Errorf("-without is %q, want one of %v", o.without, safeguards)
	}
	if o.seed == 0 {
		o.seed = rand.Uint64N(1 << 48)
	}
	o.orderly = o.orderly || o.without == "grace"
	if o.orderly { // a node that is slow, and taken for dead, would lose turns that must not be repeated
		o.lease = max(o.lease, 30*time.Second)
	}
	return o, nil
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	v, err := conduct(ctx, o)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
	fmt.Print(v)
	if len(v.wrong) > 0 {
		os.Exit(1)
	}
}

// conduct builds the nodes' programs, brings up the database, and does the drill.
func conduct(ctx context.Context, o options) (_ *verdict, err error) {
	dir, err := os.MkdirTemp("", "interlude-deploy-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	p, err := build(ctx, dir, o.earlier)
	if err != nil {
		return nil, err
	}
	database := filepath.Join(dir, "runs.db")
	if o.postgres {
		server, err := pglocal.Start(ctx, pglocal.Options{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = server.Stop() }() // what it keeps is thrown away
		database = server.DSN("")
	}
	return drill(ctx, o, p, database, dir)
}
