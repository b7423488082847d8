// Command check holds event logs against the contract: FCMP, one event a line, of any producer.
//
//	go run ./contract/check [-lenient] [-json] [-max N] [FILE.jsonl | FOLDER | -]…
//	go run ./contract/check [-json] -explain ID
//
// A folder is searched for *.jsonl, and everything below it; without an argument, and for -, it
// reads standard input. Each file is a log of its own; it may hold several runs, their events
// interleaved. A file without an event is an error. Every violation is shown, with the file, the
// line, the event's seq, and the invariant of the contract that it breaks; -max bounds how many.
// After a violation, the run is judged by what is still known of it, so that one fault is shown
// once. Of several faults of one event that are about its place in the run the first counts:
// transitions and pairs of events are checked before counters.
//
// Without -lenient a log must be as this library writes it: every line one event in the contract's
// schemas, encoded in the one way that no two readers understand differently; every run from
// conversation.started on; every invariant decided. A log that ends between two events of one
// commit is a violation too; one that ends elsewhere is of a run that is not finished.
//
// With -lenient it checks logs of other producers. It demands what the protocol fixes, and forgives
// and counts the rest; -explain lenient says what is demanded, forgiven, taken as it is, and not
// decided. -explain says what an id means: of a state, event, transition, rule, code, event type,
// invariant or requirement.
//
// With -json it writes a line for each violation, and one for the summary.
//
// It exits with 0 when all is well, with 1 when something was found, and with 2 when it was called
// wrongly or an input could not be read or is empty.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

// What the program exits with.
const (
	exitWell  = 0
	exitFound = 1
	exitWrong = 2
)

const usage = `usage: check [-lenient] [-json] [-max N] [FILE.jsonl | FOLDER | -]…
       check [-json] -explain ID

Holds event logs (FCMP, one event a line) against the contract. A folder is searched for *.jsonl;
without an argument, and for -, standard input is read. Exits with 0 when all is well, 1 when
something was found, 2 when it was called wrongly or an input could not be read or is empty.

Without -lenient a log must be as this library writes it: each line an event of the contract's
schemas, each run from conversation.started on, every invariant kept. With it, logs of other
producers pass that have what the protocol fixes; what they leave out or add is forgiven and
counted, and what cannot be decided for lack of it is counted too (-explain lenient).

`

func main() {
	info, err := os.Stdin.Stat()
	typed := err != nil || info.Mode()&os.ModeCharDevice != 0
	os.Exit(run(os.Args[1:], stdin{os.Stdin, typed}, os.Stdout, os.Stderr))
}

// stdin is standard input. Nobody types a log, so if typed is set, standard input is read only for
// the argument "-".
type stdin struct {
	io.Reader
	typed bool
}

// run is the program.
func run(args []string, stdin stdin, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = io.WriteString(flags.Output(), usage)
		flags.PrintDefaults()
	}
	lenient := flags.Bool("lenient", false, "check logs of other producers: demand what the protocol fixes, forgive "+
		"and count the rest; see -explain lenient")
	asJSON := flags.Bool("json", false, "write JSON, an object a line")
	most := flags.Int("max", 100, "tell at most `N` violations, all are counted; 0: all")
	word := flags.String("explain", "", "say what an `ID` of the contract means, or a name, and check nothing")
	logs, err := parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return exitWell
	}
	if err != nil {
		return exitWrong
	}
	wrong := func(text string) int {
		_, _ = fmt.Fprintf(stderr, "check: %s\n", text)
		return exitWrong
	}
	out := &printer{out: stdout}
	var code int
	switch {
	case *word != "" && (len(logs) > 0 || *lenient):
		return wrong("-explain checks nothing: leave out -lenient and the files")
	case *word != "":
		code = explainWord(out, stderr, *word, *asJSON)
	case *most < 0:
		return wrong(fmt.Sprintf("-max is %d, from 0 on is allowed", *most))
	case len(logs) == 0 && stdin.typed:
		flags.Usage()
		return exitWrong
	default:
		c := checking{lenient: *lenient, most: *most, stdin: stdin, stderr: stderr, reporter: reporters[*asJSON](out)}
		code = c.all(logs)
	}
	if out.failed != nil {
		return wrong("writing: " + out.failed.Error())
	}
	return code
}

// parse takes flags among the other arguments too, up to "--", and returns the others.
func parse(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		ended := len(rest) < len(args) && args[len(args)-len(rest)-1] == "--"
		if len(rest) == 0 || ended {
			return append(others, rest...), nil
		}
		others, args = append(others, rest[0]), rest[1:]
	}
}
