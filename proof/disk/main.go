// Command disk proves the worth of an acknowledgement when the machine or its disk fails (J8, J9).
//
// A host executes runs on a SQLite file, with the real store and the real SQLite. A layer below
// SQLite records each system call that changes the file, its journal, its WAL or their folder, and
// each flush; a ledger outside of the store notes each answer to a caller, and when. Then
//
//   - the power is lost at any point of the trace: of the calls that no flush has covered by then,
//     none, some or all are on the disk, in any order, whole or only with some of their sectors.
//     The real store opens these files. Every acknowledged commit, receipt and cancel must be
//     there, each log must keep the contract, and a host must bring all runs to their ends;
//   - each call fails in turn, once or for a while, with EIO or ENOSPC, or after half of a write.
//     Callers repeat unacknowledged calls. No run may fail, nothing that was acknowledged may
//     be lost, now or by a loss of power afterwards (data that a failed flush left out is never
//     written), and the host must continue when calls succeed again.
//
// With -synchronous NORMAL, or if the flushes of a file have no effect (-deaf), the same search
// must find losses.
//
// With -full, a small volume under SQLite and PostgreSQL, with the WAL on it, is full for a while;
// that needs the right to mount. With -locked, another process holds the lock of the SQLite file.
//
//	go run ./proof/disk                                1,500 points, and each 7th call fails
//	go run ./proof/disk -points 20000 -runs 40 -every 1
//	go run ./proof/disk -synchronous NORMAL -every 0   to see that losses are found
//	go run ./proof/disk -deaf runs.db-wal -every 0     likewise
//	go run ./proof/disk -points 0 -every 0 -full 20s
//	go run ./proof/disk -points 0 -every 0 -locked 20s -lease 5s
//	go run ./proof/disk -points 0 -every 0 -bytes 1500 to see how an inspection finds a changed byte
//
// The seed determines the points, the faults and the losses. The calls of the host also depend on
// timing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/sqlite"
)

// The databases for -full.
const (
	onSQLite     = "SQLite"
	onPostgreSQL = "PostgreSQL"
)

// options are the command line.
type options struct {
	runs   int
	points int
	settle int
	every  int
	level  string
	deaf   string
	full   time.Duration
	locked time.Duration
	lease  time.Duration
	bytes  int
	seed   uint64
}

func parse(args []string) (options, error) {
	var o options
	f := flag.NewFlagSet("disk", flag.ContinueOnError)
	f.IntVar(&o.runs, "runs", 20, "how many runs the host executes")
	f.IntVar(&o.points, "points", 1500, "at how many points the power is lost")
	f.IntVar(&o.settle, "settle", 10, "at each how many of them a host goes on with what is left; 0: nowhere")
	f.IntVar(&o.every, "every", 7, "each how many calls one fails; 0: none")
	f.StringVar(&o.level, "synchronous", string(sqlite.Full), "sqlite.Options.Synchronous: FULL or NORMAL")
	f.StringVar(&o.deaf, "deaf", "", "leave the flushes of this `file` out: runs.db or runs.db-wal")
	f.DurationVar(&o.full, "full", 0, "for how long a volume is full; 0: it is not tried")
	f.DurationVar(&o.locked, "locked", 0, "for how long another process locks the SQLite file; 0: it is not tried")
	f.DurationVar(&o.lease, "lease", patience, "the host's lease under -full and -locked: on PostgreSQL, turns that "+
		"are under way when it ends are interrupted, and fail their runs, which the search then finds")
	f.IntVar(&o.bytes, "bytes", 0, "how many times a byte of the file is changed behind the store's back")
	f.Uint64Var(&o.seed, "seed", 0, "what the points follow from; 0: a new one")
	if err := cast.Parse(f, args, &o.seed); err != nil {
		return o, err
	}
	switch {
	case o.runs < 1 || o.runs > 900 || min(o.points, o.settle, o.every, o.bytes) < 0:
		return o, fmt.Errorf(
			"-runs is %d (want 1 to 900), -points %d, -settle %d, -every %d and -bytes %d (at least 0)",
			o.runs, o.points, o.settle, o.every, o.bytes)
	case o.level != string(sqlite.Full) && o.level != string(sqlite.Normal):
		return o, fmt.Errorf("-synchronous is %q, want FULL or NORMAL", o.level)
	case o.deaf != "" && o.deaf != "runs.db" && o.deaf != "runs.db-wal":
		return o, fmt.Errorf("-deaf is %q, want runs.db or runs.db-wal", o.deaf)
	}
	return o, nil
}

func main() {
	cast.ServeHost(func(ctx context.Context, p process) error { return p.serve(ctx) })
	cast.Main("disk", parse, conduct)
}

// conduct runs the proofs that the options ask for, and prints the results.
func conduct(ctx context.Context, o options) (holds bool, _ error) {
	wrong := false
	fmt.Fprintf(os.Stderr, "seed %d\n", o.seed)
	if o.points > 0 {
		t, err := recorded(ctx, o.runs, sqlite.Synchronous(o.level))
		if err != nil {
			return false, err
		}
		s := search{trace: t, points: o.points, settle: o.settle, seed: o.seed, deaf: o.deaf}
		found, err := s.run(ctx)
		if err != nil {
			return false, err
		}
		fmt.Print(found)
		wrong = found.Lost+found.Damaged > 0
	}
	if o.every > 0 {
		s := faultSearch{runs: min(o.runs, 5), every: o.every, seed: o.seed}
		found, err := s.run(ctx)
		if err != nil {
			return false, err
		}
		fmt.Print(found)
		wrong = wrong || len(found.Wrong) > 0
	}
	if o.bytes > 0 {
		t, err := recorded(ctx, o.runs, sqlite.Full)
		if err != nil {
			return false, err
		}
		found, err := changed(ctx, t, o.bytes, o.seed)
		if err != nil {
			return false, err
		}
		for _, n := range notices {
			fmt.Printf("%6d changed bytes %s\n", found[n], n)
		}
	}
	for _, name := range []string{onSQLite, onPostgreSQL} {
		if o.full == 0 {
			break
		}
		found, err := fillVolume(ctx, name, o.runs+10, o.full, o.lease)
		if err != nil {
			return false, err
		}
		fmt.Println(found)
		wrong = wrong || len(found.Unclear) > 0
	}
	if o.locked > 0 {
		found, err := lockOut(ctx, o.runs+10, o.locked, o.lease)
		if err != nil {
			return false, err
		}
		fmt.Println(found)
		wrong = wrong || len(found.Unclear) > 0
	}
	return !wrong, nil
}
