// Command host is one host of a case of package crash: it plays its part on a store that it opens,
// and ends by itself or with kill -9.
//
// It prints JSON lines on its standard output: the points that it reached, and whether the fault
// has happened.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/proof/crash"
	"github.com/interlude-go/interlude/store/postgres"
)

// faster is how many times as fast as the machine's the host's clock goes.
const faster = 20

type options struct {
	store, schema         string
	scenario, id, journal string
	role, point, outcome  string
	base                  int64
	crashed               bool
}

func main() {
	var o options
	flag.StringVar(&o.store, "store", "", "the SQLite `file` of the store, or its PostgreSQL database")
	flag.StringVar(&o.schema, "schema", "", "the store's schema in PostgreSQL")
	flag.StringVar(&o.scenario, "scenario", "", "the scenario's name")
	flag.StringVar(&o.id, "case", "case", "the case's name; the ids of its runs begin with it")
	flag.StringVar(&o.journal, "journal", "", "the case's journal, a `file`")
	flag.StringVar(&o.role, "role", string(crash.Second), "first, second or last")
	flag.StringVar(&o.point, "point", "", "where the fault happens")
	flag.StringVar(&o.outcome, "outcome", "", "before, after or lost")
	flag.Int64Var(&o.base, "base", time.Now().UnixMicro(), "the time at which the case's clock begins, in `µs`")
	flag.BoolVar(&o.crashed, "crashed", false, "a host of the case has been killed (with -role last)")
	flag.Parse()
	if err := o.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		if errors.Is(err, crash.ErrNotReached) {
			os.Exit(crash.StatusNotReached)
		}
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	scenario, err := crash.Find(o.scenario)
	if err != nil {
		return err
	}
	s, err := cast.StoreOptions{Postgres: postgres.Options{Schema: o.schema}}.Open(ctx, o.store)
	if err != nil {
		return err
	}
	journal, err := cast.OpenJournal[crash.Entry](o.journal)
	if err != nil {
		return err
	}
	host := crash.Host{
		Scenario: scenario, Case: o.id, Journal: journal,
		Clock: cast.Clock{Start: time.UnixMicro(o.base), Factor: faster},
		Role:  crash.Role(o.role),
		Store: crash.NewStore(s, crash.Fault{Point: o.point, Outcome: crash.Outcome(o.outcome)}, die),
	}
	if !cast.OnSQLite(o.store) {
		host.Store.Slower = faster
	}
	before, err := crash.Versions(ctx, s, o.id)
	if err != nil {
		return err
	}
	if err := host.Play(ctx); err != nil {
		return err
	}
	switch v := (crash.Verdict{Scenario: scenario, Case: o.id, Journal: journal, Crashed: o.crashed}); {
	case host.Role == crash.Last:
		err = v.Judge(ctx, s)
	case o.point == "":
		err = host.Store.Covers(ctx, o.id, before)
	case !host.Store.Hit():
		err = fmt.Errorf("%w %q", crash.ErrNotReached, o.point)
	}
	for _, p := range host.Store.Found() {
		err = errors.Join(err, json.NewEncoder(os.Stdout).Encode(p))
	}
	return errors.Join(err, journal.Close(), s.Close())
}

// die is kill -9: nothing is flushed, closed or said.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
