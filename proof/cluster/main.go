// Command cluster proves a cluster under faults. It runs several nodes, each a separate process, on
// one PostgreSQL, with the faults of a bad week: it kills them, stops them for longer than their
// lease, closes their connections, and takes the server away, also with kill -9, while runs are
// submitted, answered, canceled and time out. With -standbys the server is a primary with standbys,
// and each commit waits for any of them; the primary is lost, hangs, is cut off, or comes back
// after a standby was promoted. At the end the program checks the remaining data, and reports the
// result.
//
//	go run ./proof/cluster -nodes 3 -runs 2000 -chaos
//	go run ./proof/cluster -nodes 3 -runs 20000 -chaos -kills 200 -restarts 5
//	go run ./proof/cluster -nodes 3 -runs 2000 -chaos -dsn postgres://user@host/database
//	go run ./proof/cluster -nodes 3 -runs 20000 -chaos -standbys 2 -failovers 30
//	go run ./proof/cluster -nodes 3 -runs 20000                        without chaos, to measure the speed
//	go run ./proof/cluster -nodes 2 -runs 200 -break event             to see that the checks find faults
//
// It proves, run by run, that each run ended, or waits, as planned; that no accepted reply was lost
// or executed twice; that the log has no gap and breaks no invariant of the contract; that the
// slots in use never exceeded the capacity; that no node with a lost lease could write (each tries
// its old writes again); and that the runs of a lost node continued within two lease lengths. The
// evidence does not come only from the store: people record their answers, agents record their
// actions in files that survive kill -9, and a separate connection monitors the slots.
//
// The chaos depends only on the seed, as far as timing allows. The seed is printed, and -seed
// repeats it. On a failure, the program describes it, prints the run's log, and exits with 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// options are the command line.
type options struct {
	nodes      int
	runs       int
	chaos      bool
	kills      int
	restarts   int
	standbys   int
	failovers  int
	seed       uint64
	dsn        string
	schema     string
	keepSchema bool
	lease      time.Duration
	spoil      string
	asJSON     bool

	asynchronous bool

	outside bool
	rate    float64
	timeout time.Duration
	listen  string
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("cluster", flag.ContinueOnError)
	f.IntVar(&o.nodes, "nodes", 3, "how many nodes")
	f.IntVar(&o.runs, "runs", 2000, "how many runs")
	f.BoolVar(&o.chaos, "chaos", false, "disturb the nodes and the server meanwhile")
	f.IntVar(&o.kills, "kills", 30, "how many times a node is killed, stopped or cut off")
	f.IntVar(&o.restarts, "restarts", 3, "how many times the server is restarted, every other one by kill -9; only "+
		"one of its own, without -dsn")
	f.IntVar(&o.standbys, "standbys", 0, "how many standbys the server has, any one of which commits wait for; "+
		"2 or more, or 0 for a server alone")
	f.IntVar(&o.failovers, "failovers", 0,
		"how many times the primary is lost, hangs, is cut off or comes back, and a "+
			"standby takes over")
	f.BoolVar(&o.asynchronous, "asynchronous", false, "commits wait for no standby: the checks must find what is lost")
	f.Uint64Var(&o.seed, "seed", 0, "what the chaos follows from; 0: a new one")
	f.StringVar(&o.dsn, "dsn", "", "the PostgreSQL `database`; a private server when empty")
	f.StringVar(&o.schema, "schema", "", "the schema; one of its own when empty. It is dropped at the end")
	f.BoolVar(&o.keepSchema, "keep", false, "keep the schema and the nodes' notes")
	f.BoolVar(&o.outside, "outside", false, "another program harms the server that -dsn names, and announces that on "+
		"standard input; runs are submitted until its end, at most -runs")
	f.Float64Var(&o.rate, "rate", 5, "how many runs a second are submitted with -outside")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "the timeout of the stores")
	f.StringVar(&o.listen, "listen", "", "a direct connection to the server for notifications, if -dsn is a pooler's")
	f.DurationVar(&o.lease, "lease", 2*time.Second, "the nodes' lease, at least 1s")
	f.StringVar(&o.spoil, "break", "", "spoil one thing on purpose before the checks, which must find it: "+
		breakNames())
	f.BoolVar(&o.asJSON, "json", false, "print the verdict as one line of JSON")
	if err := cast.Parse(f, args, &o.seed); err != nil {
		return o, err
	}
	switch {
	case o.nodes < 1 || o.nodes > 16 || o.runs < 1 || o.kills < 0 || o.restarts < 0:
		return o, fmt.Errorf("-nodes is %d (want 1 to 16), -runs %d (at least 1), -kills %d and -restarts %d (at "+
			"least 0)", o.nodes, o.runs, o.kills, o.restarts)
	case o.standbys < 0 || o.standbys == 1 || o.standbys > 8 || o.failovers < 0:
		return o, fmt.Errorf("-standbys is %d (want 0, or 2 to 8: with one, whoever loses it loses the primary's "+
			"commits too) and -failovers %d (at least 0)", o.standbys, o.failovers)
	case o.standbys == 0 && (o.failovers > 0 || o.asynchronous), o.standbys > 0 && o.dsn != "":
		return o, errors.New("-failovers and -asynchronous need -standbys, which are of servers of its own, without " +
			"-dsn")
	case o.outside && (o.dsn == "" || o.chaos || o.rate <= 0):
		return o, errors.New("-outside needs -dsn and a -rate above 0, and has no -chaos")
	case o.lease < time.Second:
		return o, fmt.Errorf("-lease is %s, want at least 1s", o.lease)
	case o.spoil != "" && breaks[o.spoil].do == nil:
		return o, fmt.Errorf("-break is %q, want one of %s", o.spoil, breakNames())
	}
	return o, nil
}

func main() {
	cast.ServeHost(func(ctx context.Context, c nodeConfig) error { return c.serve(ctx) })
	cast.Main("cluster", parse, func(ctx context.Context, o options) (bool, error) {
		v, err := conduct(ctx, o)
		if err != nil {
			return false, err
		}
		return v.Correct, v.print(os.Stdout, o.asJSON)
	})
}

// conduct runs the cluster and its checks.
func conduct(ctx context.Context, o options) (*verdict, error) {
	fmt.Fprintf(os.Stderr, "seed %d\n", o.seed)
	c, err := newCluster(ctx, o)
	if err != nil {
		return nil, err
	}
	a, err := c.run(ctx, os.Stderr, func(ctx context.Context) error {
		if o.spoil == "" {
			return nil
		}
		_, err := breaks[o.spoil].do(ctx, c)
		return err
	})
	if err != nil {
		kept := ctx.Err() == nil // an interrupted run leaves nothing behind
		if kept {
			fmt.Fprintf(os.Stderr, "the nodes' notes and logs are in %s\n", c.dir)
		}
		return nil, errors.Join(err, c.leave(kept))
	}
	v := a.verdict()
	if !v.Correct {
		fmt.Fprintf(os.Stderr, "the nodes' notes and logs are in %s\n", c.dir)
	}
	return v, c.leave(!v.Correct)
}
