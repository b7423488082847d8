// Command modelcheck visits every state of a run that the contract and the protocol around it
// allow, within the bounds of its flags, and checks every promise in each state. It prints the
// number of states and transitions. When a promise is broken, it prints a shortest counter-example
// and fails.
//
//	go run ./proof/explore/modelcheck                          two nodes, one fault: seconds
//	go run ./proof/explore/modelcheck -faults 2                two faults: minutes
//	go run ./proof/explore/modelcheck -nodes 3                 three nodes: minutes
//	go run ./proof/explore/modelcheck -without version.reply   what would happen without that guard
//	go run ./proof/explore/modelcheck -without list            which guards there are
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/proof/explore"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "modelcheck:", err)
		}
		os.Exit(1)
	}
}

var errBroken = errors.New("an invariant is broken")

func run(args []string, out io.Writer) error {
	// an error means that the output is no longer read
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	o := explore.Options{Contract: contract.Load(), Bounds: explore.Usual()}
	flags := flag.NewFlagSet("modelcheck", flag.ContinueOnError)
	flags.IntVar(&o.Bounds.Nodes, "nodes", o.Bounds.Nodes, "nodes that execute runs")
	flags.IntVar(&o.Bounds.Questions, "questions", o.Bounds.Questions, "questions that the agent asks at most")
	flags.IntVar(&o.Bounds.Attempts, "attempts", o.Bounds.Attempts, "turns of the run at most")
	flags.IntVar(&o.Bounds.Faults, "faults", o.Bounds.Faults, "faults at most: crashes, leases that run out, "+
		"lost acknowledgements, …")
	flags.BoolVar(&o.Bounds.Rival, "rival", o.Bounds.Rival, "another run competes for the pool's only slot")
	flags.BoolVar(&o.Bare, "bare", false, "leave out what the model for Rumur leaves out: the logs, and "+
		"questions that are asked together")
	without := flags.String("without", "", "guards to take away, separated by commas; list shows them")
	murphi := flags.String("murphi", "", "write the model for Rumur into this file, and explore nothing")
	workers := flags.Int("j", runtime.NumCPU(), "scenarios explored at a time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag; -h shows them", flags.Arg(0))
	}
	if err := o.Bounds.Check(); err != nil {
		return err
	}
	if *murphi != "" {
		text, err := explore.Murphi(contract.Source(), o.Bounds)
		if err != nil {
			return err
		}
		return os.WriteFile(*murphi, []byte(text), 0o644)
	}
	if *without == "list" {
		for _, s := range explore.Switches() {
			say("%s\n", s)
		}
		return nil
	}
	for name := range strings.SplitSeq(*without, ",") {
		s, ok := explore.SwitchNamed(name)
		if ok {
			o.Without = append(o.Without, s)
		} else if name != "" {
			return fmt.Errorf("there is no guard %q; -without list shows them", name)
		}
	}
	began := time.Now()
	r, err := all(o, max(*workers, 1))
	if err != nil {
		return err
	}
	say("contract %s, %+v, %d scenarios: %s, %s\n", contract.Version(), o.Bounds, len(explore.Scenarios()), r,
		time.Since(began).Round(time.Millisecond))
	if r.Broken != nil {
		say("\n%s", r.Broken)
		return errBroken
	}
	missing := r.Coverage.Missing(contract.Load())
	for _, m := range missing {
		say("not reached within these bounds: %s\n", m)
	}
	if len(missing) == 0 {
		say("every transition, rejection, gate rule, policy row and result of the protocol was reached\n")
	}
	return nil
}

// all explores the scenarios concurrently.
func all(o explore.Options, workers int) (explore.Result, error) {
	var (
		mu     sync.Mutex // guards sum and failed
		sum    explore.Result
		failed error
		group  sync.WaitGroup
	)
	next := make(chan explore.Scenario)
	for range workers {
		group.Go(func() {
			for sc := range next {
				r, err := explore.Explore(o, sc)
				mu.Lock()
				sum.Add(r)
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for _, sc := range explore.Scenarios() {
		if o.Bare && sc.Own() {
			continue // the model for Rumur has plain questions, asked one at a time
		}
		next <- sc
	}
	close(next)
	group.Wait()
	return sum, failed
}
