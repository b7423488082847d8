// Command deploy is a drill of a rolling deploy with everyday faults. Three nodes, each a process,
// are replaced in turn by nodes of the next version, with SIGTERM and SIGKILL alternately. In the
// meantime runs are submitted, people reply, agents answer 503 in a third of their turns, and each
// version refuses the other's sessions. The nodes have the recommended configuration
// (Config.Forgiving): runs that need a repair or a decision are held, and the drill's operators
// resume them. Then the drill checks, from the acknowledgements to people, that no run failed
// because of the deploy, no accepted answer was lost, no operator had to decide without need, and
// each end is explained.
//
//	go run ./proof/deploy -runs 2000                        on a SQLite file
//	go run ./proof/deploy -runs 2000 -postgres -kills 20    on PostgreSQL; nodes are killed in between, too
//	go run ./proof/deploy -runs 2000 -earlier               the first version is built with an earlier library
//	go run ./proof/deploy -without retry                    removes a safeguard: the judge must find failures
//
// The safeguards are retry, ask and hold (as set by Config.Forgiving), repeat (Spec.OnInterrupt of
// a third of the runs) and grace (Config.Grace is UntilDone; without it, nodes are replaced only by
// SIGTERM).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pglocal"
)

// options are the options of the command line.
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

var safeguards = []string{"retry", "ask", "hold", "repeat", "grace"}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("deploy", flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 300, "how many runs")
	f.IntVar(&o.kills, "kills", 0, "how many times a node is killed beside the deploy")
	f.Uint64Var(&o.seed, "seed", 0, "what the runs follow from; 0: a new one")
	f.BoolVar(&o.postgres, "postgres", false, "on a private PostgreSQL server instead of a SQLite file")
	f.BoolVar(&o.earlier, "earlier", false, "build the first version with the first library in earlier.txt")
	f.BoolVar(&o.orderly, "orderly", false, "replace nodes by SIGTERM alone: nobody may be asked about a turn")
	f.StringVar(&o.without, "without", "", fmt.Sprintf("a safeguard to take away, of %v", safeguards))
	f.DurationVar(&o.lease, "lease", time.Second, "the nodes' lease, at least 1s")
	if err := cast.Parse(f, args, &o.seed); err != nil {
		return o, err
	}
	switch {
	case o.runs < 1 || o.kills < 0 || o.lease < time.Second:
		return o, fmt.Errorf("-runs is %d (at least 1), -kills %d (at least 0), -lease %s (at least 1s)", o.runs,
			o.kills, o.lease)
	case o.without != "" && !slices.Contains(safeguards, o.without):
		return o, fmt.Errorf("-without is %q, want one of %v", o.without, safeguards)
	}
	o.orderly = o.orderly || o.without == "grace"
	if o.orderly { // if a slow node counted as dead, turns would be lost and operators would have to decide
		o.lease = max(o.lease, 30*time.Second)
	}
	return o, nil
}

func main() {
	cast.Main("deploy", parse, func(ctx context.Context, o options) (bool, error) {
		v, err := conduct(ctx, o)
		if err != nil {
			return false, err
		}
		fmt.Print(v)
		return len(v.wrong) == 0, nil
	})
}

// conduct builds the nodes' programs, starts the database, and runs the drill.
func conduct(ctx context.Context, o options) (_ *verdict, err error) {
	dir, err := os.MkdirTemp("", "interlude-deploy-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	commit := ""
	if o.earlier {
		commit = earlierOf()[0]
	}
	p, err := build(ctx, dir, commit)
	if err != nil {
		return nil, err
	}
	database := filepath.Join(dir, "runs.db")
	if o.postgres {
		server, err := pglocal.Start(ctx, pglocal.Options{})
		if err != nil {
			return nil, err
		}
		defer func() { _ = server.Stop() }() // an error does not matter: its data is deleted
		database = server.DSN("")
	}
	return drill(ctx, o, p, database, dir)
}
