// Package cast has the actors that proofs share: the command that conducts a proof, the hosts that
// it starts and kills, their stores and clocks, an agent with a memory, people who repeat a call
// until its outcome is known, the journal in which both record events outside the store, and the
// reader that parses logs for a proof's checks. Each proof decides independently what is correct.
package cast

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/pprof"
	"time"
)

// errInterrupted is the error of an interrupted proof.
var errInterrupted = errors.New("interrupted; nothing was checked")

// Main parses the command line and calls conduct. It exits with an error status unless the proof
// holds. An interrupt ends the context of conduct, which then removes everything it created and
// returns. After 45 minutes the program ends with its goroutines printed.
func Main[O any](name string, parse func(args []string) (O, error),
	conduct func(context.Context, O) (holds bool, err error)) {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fail(name, err, 2)
	}
	endIfItHangs(name)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	holds, err := conduct(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = errInterrupted
	}
	stop()
	if err != nil {
		fail(name, err, 1)
	}
	if !holds {
		os.Exit(1)
	}
}

// limit bounds a proof and each host that a proof starts. A program that takes longer hangs.
const limit = 45 * time.Minute

// endIfItHangs ends the process after the limit, and prints where each goroutine is.
func endIfItHangs(name string) {
	time.AfterFunc(limit, func() {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 2) // the process ends in any case
		fail(name, fmt.Errorf("not finished after %s; the goroutines are printed above", limit), 1)
	})
}

func fail(name string, err error, status int) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(status)
}

// Parse parses the arguments, refuses arguments that are not flags, and sets a seed of 0 to a
// random value.
func Parse(f *flag.FlagSet, args []string, seed *uint64) error {
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 48)
	}
	return nil
}
