package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/proof/mutation/chosen"

	"github.com/interlude-go/interlude/proof/checkout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

// run judges the packages that the arguments name.
func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("mutation", flag.ExitOnError)
	packages := flags.String("packages", "fsm,slots,interaction,lifecycle/internal/decide,lifecycle,engine/flow",
		"folders of the root module")
	survivors := flags.Bool("survivors", false, "print what is not explained, as it would stand in the list, and "+
		"what takes the tests too long")
	verbose := flags.Bool("v", false, "print what gremlins prints")
	h := hunt{progress: io.Discard}
	flags.StringVar(&h.program, "gremlins", "", "program of gremlins "+gremlinsVersion+"; it is installed in .tools "+
		"when empty")
	flags.IntVar(&h.workers, "workers", runtime.NumCPU(), "mutants that are tried at the same time")
	flags.IntVar(&h.coefficient, "coefficient", 5, "a mutant may take so many times what the tests take")
	flags.BoolVar(&h.together, "together", false, "compile all mutants into one test program, which is told which "+
		"one is meant: minutes in place of hours")
	flags.IntVar(&h.sample, "sample", 0,
		"try so many mutants of each package, chosen at random; 0 is all; needs -together")
	flags.Uint64Var(&h.seed, "seed", 1, "seed of the sample")
	flags.StringVar(&h.slow, "slow", "", "tests whose name has a match of this regular expression are executed only "+
		"if no other one detects the change; with -together")
	flags.Func("also", "other folders whose tests may detect a change that the package's own do not, such as "+
		"lifecycle:Stories,lifecycle, each with an optional regular expression for the names of its tests; "+
		"with -together",
		func(s string) error {
			h.also = parseSuites(s)
			return nil
		})
	flags.Func("files", "only files whose name has a match of this regular expression", func(s string) (err error) {
		h.files, err = regexp.Compile(s)
		return err
	})
	flags.Func("again", "only the mutants that this file names: what -survivors printed; needs -together",
		func(path string) (err error) {
			h.listed, err = readSurvivors(path)
			return err
		})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (h.sample > 0 || h.listed != nil || h.also != nil) && !h.together {
		return errors.New("-sample, -again and -also need -together: gremlins tries all that it finds")
	}
	if *verbose {
		h.progress = os.Stderr
	}
	root, err := checkout.Root()
	if err != nil {
		return err
	}
	if h.program == "" {
		if h.program, err = install(ctx, root); err != nil {
			return err
		}
	}
	temp, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := checkout.Copy(ctx, root, temp); err != nil {
		return err
	}
	var verdicts []verdict
	for pkg := range strings.SplitSeq(*packages, ",") {
		list, err := readList(filepath.Join(root, "proof", "mutation", "survivors", pkg+".txt"))
		if err != nil {
			return err
		}
		mutants, spent, err := h.mutants(ctx, temp, pkg)
		if err != nil {
			return err
		}
		v := judge(pkg, mutants, list, h.files == nil && h.sample == 0 && h.listed == nil)
		v.spent, v.listed = spent, h.listed != nil
		verdicts = append(verdicts, v)
	}
	return report(verdicts, *survivors)
}

// report prints the table, and the unexplained survivors, and returns the faults.
func report(verdicts []verdict, survivors bool) error {
	wrong := []error{table(os.Stdout, verdicts)}
	for _, v := range verdicts {
		wrong = append(wrong, v.err())
		if !survivors {
			continue
		}
		for _, m := range v.late {
			fmt.Printf("# too long: %s/%s:%d: %s\n", v.pkg, m.file, m.line, m.after)
		}
		for _, m := range v.unexplained {
			fmt.Printf("\n# %s/%s:%d\n%s", v.pkg, m.file, m.line, m.entry())
		}
	}
	return errors.Join(wrong...)
}

// mutants lets gremlins try the mutants of a package, and then tries the ones that gremlins
// skipped. Spent is CPU time.
func (h hunt) mutants(ctx context.Context, root, pkg string) (_ []mutant, spent time.Duration, _ error) {
	if err := forgetful(root, pkg); err != nil {
		return nil, 0, err
	}
	src, err := load(ctx, root, pkg)
	if err != nil {
		return nil, 0, err
	}
	began := time.Now()
	t := trial{root: root, pkg: pkg, flags: src.flags, slow: h.slow, also: slices.Clone(h.also)}
	for i := range t.also {
		if t.also[i].flags, err = testFlags(ctx, root, t.also[i].pkg); err != nil {
			return nil, 0, err
		}
	}
	args := append([]string{"test", "-count=1", "./" + pkg}, t.flags...)
	if out, err := command(ctx, root, "go", args...).CombinedOutput(); err != nil {
		return nil, 0, fmt.Errorf("the tests of %s fail without a change: %w\n%s", pkg, err, out)
	}
	t.patience = h.limit(time.Since(began))
	report, spent, err := h.unleash(ctx, root, pkg)
	if err != nil {
		return nil, spent, err
	}
	all, err := readReport(report, func(file string) ([]byte, error) {
		return os.ReadFile(filepath.Join(src.dir, file))
	}, h.together)
	if err != nil {
		return nil, spent, err
	}
	// leave out files that are not compiled on this system
	all = slices.DeleteFunc(all, func(m mutant) bool { return !slices.Contains(src.names, m.file) })
	if h.listed != nil {
		var gone int
		all, gone = listed(h.listed, all)
		fmt.Printf("%s: of %d listed mutants %d are gone\n", pkg, len(h.listed), gone)
	}
	if h.together {
		all = h.draw(src, all)
		more, err := h.choose(ctx, t, src, all)
		return all, spent + more, err
	}
	more, err := t.settle(ctx, src, all)
	return all, spent + more, err
}

// draw returns a random sample of the mutants that compile; all mutants without -sample.
func (h hunt) draw(src *source, all []mutant) []mutant {
	if h.sample == 0 {
		return all
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return src.check(m.file, m.source) != nil })
	r := rand.New(rand.NewPCG(h.seed, 0)) // the same seed draws the same sample
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(h.sample, len(all))]
}

// choose tries all mutants, with one program as far as they can be woven in.
func (h hunt) choose(ctx context.Context, t trial, src *source, all []mutant) (spent time.Duration, err error) {
	for i := range all {
		if src.check(all[i].file, all[i].source) != nil {
			all[i].status = notViable
		}
	}
	temp, err := os.MkdirTemp("", "woven")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	c, spent, err := t.choose(ctx, src, temp, all)
	if err != nil {
		return spent, err
	}
	began := time.Now()
	also := c.also
	c.also = nil
	became, more, err := c.run(ctx, c.program, mutant{}, chosen.Variable+"=0")
	c.also = also
	spent += more
	if err == nil && became != lived {
		err = fmt.Errorf("the tests of %s fail with no mutant chosen", t.pkg)
	}
	if err != nil {
		return spent, err
	}
	c.patience = h.limit(time.Since(began)) // the first one counts how long the tests compile, too
	for i := range c.also {
		c.also[i].patience = time.Hour
		began = time.Now()
		became, more, err := c.runIn(ctx, c.also[i], mutant{}, []string{chosen.Variable + "=0"})
		spent += more
		if err == nil && became != lived {
			err = fmt.Errorf("the tests of %s fail with no mutant chosen", c.also[i].pkg)
		}
		if err != nil {
			return spent, err
		}
		c.also[i].patience = h.limit(time.Since(began))
	}
	more, err = c.settle(ctx, all, h.workers)
	return spent + more, err
}

// limit is how long a mutant may take, given how long the tests take without one.
func (h hunt) limit(tests time.Duration) time.Duration {
	return max(20*time.Second, time.Duration(h.coefficient)*tests)
}

// settle finds the mutants that do not compile. It tries the mutants that gremlins skipped, and
// retries timeouts: the machine may have been busy, or a test may have spent its time on shrinking
// a counter-example.
func (t trial) settle(ctx context.Context, src *source, all []mutant) (spent time.Duration, _ error) {
	for i := range all {
		m := &all[i]
		if src.check(m.file, m.source) != nil {
			m.status = notViable
		}
		if m.status != notCovered && m.status != timedOut {
			continue
		}
		became, more, err := t.try(ctx, *m)
		spent += more
		if err != nil {
			return spent, err
		}
		m.status = became
	}
	return spent, nil
}
