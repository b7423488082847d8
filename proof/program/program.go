// Package program has what the proofs that are commands of their own do alike (proof/cluster,
// proof/deploy): they read a command line, can be interrupted, and exit with 2 when the command
// line is wrong, and with 1 when the proof fails or does not come to its end.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
)

// errInterrupted is what is said of a proof that somebody interrupted.
var errInterrupted = errors.New("interrupted; nothing was checked")

// Main reads the command line, conducts the proof, and exits unless the proof holds. An interrupt
// ends the context of conduct, which then returns as soon as it has put away what it made.
func Main[O any](name string, parse func(args []string) (O, error),
	conduct func(context.Context, O) (holds bool, err error)) {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fail(name, err, 2)
	}
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

func fail(name string, err error, status int) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	os.Exit(status)
}

// Parse parses the arguments, none of which may be left, and gives an unset seed a random value.
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
