// Command check checks event logs against the contract: FCMP, one event per line, of any producer.
//
//	go run ./contract/check [-lenient] [-json] [-max N] [FILE.jsonl | FOLDER | -]…
//	go run ./contract/check [-json] -explain ID
//
// It searches folders recursively for *.jsonl; without an argument, or for -, it reads standard
// input. Each file is a separate log, of one run or of several interleaved, and has at least one
// event. For every violation it shows the file, the line, the event's seq, and the broken
// invariant; -max limits their number. One fault is shown once: after it, the run is judged by the
// remaining facts, and an event that is misplaced in several ways counts once.
//
// Without -lenient a log must be as this library writes it: one event per line, valid by the
// contract's schemas, in the one encoding that all readers understand alike; every run complete
// from conversation.started. A log that ends between two events of one commit is a violation; one
// that ends elsewhere belongs to an unfinished run.
//
// With -lenient it checks logs of other producers. It demands the fixed parts of the protocol, and
// forgives and counts other deviations; -explain lenient lists them. -explain explains an id: a
// state, event, transition, rule, code, event type, invariant or requirement.
//
// With -json it writes a line for each violation, and one for the summary.
//
// Exit codes: 0 without findings, 1 with findings, 2 for wrong usage or an input that is unreadable
// or empty.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

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

// stdin is standard input. A terminal (typed) is read only for the argument "-": people do not type
// logs.
type stdin struct {
	io.Reader
	typed bool
}

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
	most := flags.Int("max", 100, "show at most `N` violations, all are counted; 0: all")
	word := flags.String("explain", "", "explain an `ID` or a name of the contract, and check nothing")
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
