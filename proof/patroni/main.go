//go:build linux

// Command patroni proves the library on a cluster that Patroni manages: three PostgreSQL servers
// with strict synchronous replication, etcd, HAProxy with Patroni's health checks, and PgBouncer.
// Patroni has its default times. It uses the load and the judge of proof/cluster at three
// addresses at the same time: HAProxy, PgBouncer, and a connection string with all three hosts.
//
//	go run ./proof/patroni
//	go run ./proof/patroni -harms 'switchover,manager stopped'
//
// For each harm it prints the longest time between two acknowledged replies, at each address. It
// fails if an acknowledged reply was lost or executed twice, if a turn of 100 s was interrupted
// when the primary's machine was killed, or if a connection string with all hosts did not leave a
// replaced primary in time.
//
// It needs the programs of Debian's packages patroni, etcd-server, haproxy, pgbouncer and postgresql,
// and no root. Everything listens on free ports of 127.0.0.1, and all files are in one temporary
// folder. Its processes end with this program, even after kill -9.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/interlude-go/interlude/proof/cast"
)

// libraryTimeout is the timeout of the stores, the library's default.
const libraryTimeout = 15 * time.Second

// calm is the time between two harms.
const calm = 15 * time.Second

// severalHosts is the address with all hosts.
const severalHosts = "hosts"

type options struct {
	seed   uint64
	nodes  int
	rate   float64
	harms  []harm
	retain bool
}

func parse(args []string) (options, error) {
	var o options
	var names string
	f := flag.NewFlagSet("patroni", flag.ContinueOnError)
	f.Uint64Var(&o.seed, "seed", 0, "seed of the load; 0: a new one")
	f.IntVar(&o.nodes, "nodes", 2, "how many nodes work at each address")
	f.Float64Var(&o.rate, "rate", 3, "how many runs a second are submitted at each address")
	f.StringVar(&names, "harms", "", "only these harms, with commas between them")
	f.BoolVar(&o.retain, "retain", false, "do not delete files and logs")
	if err := cast.Parse(f, args, &o.seed); err != nil {
		return o, err
	}
	for name := range strings.SplitSeq(names, ",") {
		if names == "" {
			o.harms = harms
			break
		}
		i := slices.IndexFunc(harms, func(h harm) bool { return h.name == name })
		if i < 0 {
			return o, fmt.Errorf("there is no harm %q", name)
		}
		o.harms = append(o.harms, harms[i])
	}
	return o, nil
}

func main() { cast.Main("patroni", parse, conduct) }

// conduct starts the servers and the load, does all harms, and prints the result.
func conduct(ctx context.Context, o options) (bool, error) {
	fmt.Fprintf(os.Stderr, "seed %d\n", o.seed)
	s, err := newSite()
	if err != nil {
		return false, err
	}
	p, err := newServers(ctx, s)
	if err != nil {
		return false, errors.Join(err, s.leave(false))
	}
	d := &drill{o: o, servers: p}
	holds, err := d.run(ctx)
	return holds, errors.Join(err, s.leave(o.retain || ctx.Err() == nil && (err != nil || !holds)))
}

// drill is the load at each address during all harms.
type drill struct {
	o       options
	servers *servers
	loads   []*load
}

func (d *drill) run(ctx context.Context) (bool, error) {
	p := d.servers
	program := filepath.Join(p.site.dir, "cluster")
	if err := buildCluster(ctx, program); err != nil {
		return false, err
	}
	if err := p.start(ctx); err != nil {
		return false, err
	}
	fmt.Fprintln(os.Stderr, "the servers are ready")
	addresses := map[string][]string{
		"haproxy":    {"-dsn", p.dsn(p.haproxy)},
		"pgbouncer":  {"-dsn", p.dsn(p.pgbouncer), "-listen", p.dsn(p.haproxy)},
		severalHosts: {"-dsn", p.dsn(p.machines[0].port, p.machines[1].port, p.machines[2].port)},
	}
	for i, name := range slices.Sorted(maps.Keys(addresses)) {
		l, err := startLoad(p.site, program, name, append(addresses[name], "-nodes", fmt.Sprint(d.o.nodes), "-rate",
			fmt.Sprint(d.o.rate), "-seed", fmt.Sprint(d.o.seed+uint64(i)))...)
		if err != nil {
			return false, err
		}
		d.loads = append(d.loads, l)
	}
	for _, h := range d.o.harms {
		if err := d.harm(ctx, h); err != nil {
			return false, fmt.Errorf("%s: %w", h.name, err)
		}
	}
	cast.Pause(ctx, calm)
	for _, l := range d.loads {
		_ = l.in.Close() // it may have ended
	}
	verdicts := make([]verdict, len(d.loads))
	for i, l := range d.loads {
		var err error
		if verdicts[i], err = l.verdict(ctx); err != nil {
			return false, err
		}
	}
	return d.report(verdicts)
}

// harm does one harm, and waits until the servers are as before.
func (d *drill) harm(ctx context.Context, h harm) error {
	cast.Pause(ctx, calm)
	if h.long {
		if err := d.announce("long 4"); err != nil {
			return err
		}
		cast.Pause(ctx, 10*time.Second)
	}
	primary, err := d.servers.primary(ctx)
	if err != nil {
		return err
	}
	if h.prepare != nil {
		if err := h.prepare(ctx, d.servers, primary); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := d.announce("begin " + h.name); err != nil {
		return err
	}
	var failed error
	if err := h.do(ctx, d.servers, primary, func() {
		fmt.Fprintf(os.Stderr, "%s: promotion after %s\n", h.name, time.Since(began).Round(100*time.Millisecond))
		failed = d.announce("promoted")
	}); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if err := d.servers.healthy(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: as before after %s\n", h.name, time.Since(began).Round(100*time.Millisecond))
	return errors.Join(d.announce("end"), ctx.Err())
}

func (d *drill) announce(line string) error {
	var errs []error
	for _, l := range d.loads {
		errs = append(errs, l.announce(line))
	}
	return errors.Join(errs...)
}

// report prints the result, and reports whether the proof holds.
func (d *drill) report(verdicts []verdict) (bool, error) {
	var wrong []string
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "harm")
	for _, l := range d.loads {
		fmt.Fprintf(t, "\t%s", l.address)
	}
	fmt.Fprintln(t)
	for n, h := range d.o.harms {
		fmt.Fprint(t, h.name)
		for i, v := range verdicts {
			if n >= len(v.Incidents) {
				return false, fmt.Errorf("load %s has no incident %q", d.loads[i].address, h.name)
			}
			text, faults := v.Incidents[n].judge(h, d.loads[i].address == severalHosts)
			fmt.Fprintf(t, "\t%s", text)
			for _, fault := range faults {
				wrong = append(wrong, fmt.Sprintf("%s, %s: %s", h.name, d.loads[i].address, fault))
			}
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "replies acknowledged")
	for _, v := range verdicts {
		fmt.Fprintf(t, "\t%d", v.Replies)
	}
	if err := t.Flush(); err != nil {
		return false, err
	}
	fmt.Println()
	for i, v := range verdicts {
		for _, found := range v.Violations[:min(len(v.Violations), 10)] {
			wrong = append(wrong, fmt.Sprintf("%s: %s", d.loads[i].address, found))
		}
		if !v.Correct && len(v.Violations) == 0 {
			wrong = append(wrong, d.loads[i].address+": not correct")
		}
	}
	for _, w := range wrong {
		fmt.Println("WRONG:", w)
	}
	if len(wrong) == 0 {
		fmt.Println("correct: no acknowledged reply was lost, none was executed twice")
	}
	return len(wrong) == 0, nil
}

// judge describes the incident, and returns the missed bars.
func (i incident) judge(h harm, leaves bool) (text string, faults []string) {
	text = fmt.Sprintf("%.1f s", float64(i.PauseMS)/1000)
	if i.AfterMS > 0 {
		text += fmt.Sprintf(" (%.1f s after the promotion)", float64(i.AfterMS)/1000)
	}
	if limit := libraryTimeout + 5*time.Second; h.left && leaves &&
		time.Duration(i.AfterMS)*time.Millisecond > limit {
		faults = append(faults, fmt.Sprintf("the first acknowledged reply %d ms after the promotion, later than %s",
			i.AfterMS, limit))
	}
	if h.long {
		text += fmt.Sprintf(", %d of %d long turns interrupted", i.Interrupted, i.Turns)
		if i.Interrupted > 0 || i.Turns == 0 {
			faults = append(faults, fmt.Sprintf("%d of %d long turns interrupted", i.Interrupted, i.Turns))
		}
	}
	return text, faults
}
