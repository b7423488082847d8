package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/contract/audit"
)

var checkVerb = command.Verb{
	Name: "check", Args: "FILE…", Does: "check event logs against the contract",
	More: "A log has one event per line, as events -json prints them; - is standard input. The exit status is 1 if " +
		"violations were found. The command contract/check explains each rule.",
	Prepare: func(f *flag.FlagSet) command.Action {
		asJSON := jsonFlag(f)
		lenient := f.Bool("lenient", false, "logs of other producers: check what the protocol fixes, tolerate the rest")
		return func(_ context.Context, c command.Call) (int, error) {
			if len(c.Args) == 0 {
				return command.Misused, command.Misusef("want the logs to check, or - for standard input")
			}
			p, status := newPrinter(c.Out, *asJSON), command.Succeeded
			for _, name := range c.Args {
				well, err := checkLog(p, c.In, name, *lenient)
				if err != nil {
					return command.Misused, err
				}
				if !well {
					status = command.Failed
				}
			}
			return status, p.err
		}
	},
}

type Checked struct {
	File       string             `json:"file"`
	Runs       int                `json:"runs"`
	Events     int                `json:"events"`
	Violations []CheckedViolation `json:"violations"`
}

// CheckedViolation is a line of a log that violates an invariant of the contract.
type CheckedViolation struct {
	Line      int    `json:"line"`
	RunID     string `json:"run_id"`
	Invariant string `json:"invariant"`
	Text      string `json:"text"`
}

func checkLog(p *printer, in io.Reader, name string, lenient bool) (well bool, _ error) {
	if name != "-" {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return false, command.Misusef("there is no file %s: correct the path", name)
		}
		if err != nil {
			return false, err
		}
		defer f.Close()
		in = f
	}
	v := Checked{File: name, Violations: []CheckedViolation{}}
	report, err := audit.Log(in, audit.Options{Lenient: lenient, Found: func(found audit.Violation) {
		v.Violations = append(v.Violations, CheckedViolation{found.Line, found.RunID, found.Invariant,
			found.Explanation})
	}})
	switch {
	case err != nil:
		return false, command.Misusef("%s: %w", name, err)
	case report.Lines == 0:
		return false, command.Misusef("%s has no events: nothing was checked", name)
	}
	v.Runs, v.Events = report.Runs, report.Lines
	well = report.Found == 0
	if p.json {
		p.object(v)
		return well, nil
	}
	for _, f := range v.Violations {
		p.text(terminal.Red, fmt.Sprintf("✗ %s:%d: %s: %s", name, f.Line, f.Invariant, f.Text), "")
	}
	if well {
		p.line(terminal.Green, fmt.Sprintf("✓ %s: %s, %s", name, terminal.Many(v.Runs, "run"), terminal.Many(v.Events,
			"event")))
	}
	return well, nil
}
