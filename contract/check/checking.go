package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
)

type reporter interface {
	violation(file string, v audit.Violation, i contract.Invariant)
	summary(s *summary)
}

var reporters = map[bool]func(*printer) reporter{
	false: func(out *printer) reporter { return &textReporter{out: out, met: map[string]bool{}} },
	true:  func(out *printer) reporter { return &jsonReporter{out} },
}

type summary struct {
	Files       int            `json:"files"`
	FilesBroken int            `json:"files_with_violations"`
	Runs        int            `json:"runs"`
	Unfinished  int            `json:"unfinished_runs"`
	Fragments   int            `json:"runs_that_begin_midway"`
	Events      int            `json:"events"`
	Violations  int            `json:"violations"`
	ByInvariant map[string]int `json:"by_invariant"`
	Omitted     int            `json:"untold"` // violations beyond -max
	Unreadable  int            `json:"unreadable_files"`
	Lenient     bool           `json:"lenient"`
	Forgiven    []forgiven     `json:"forgiven,omitempty"`
	Skipped     map[string]int `json:"not_decided,omitempty"` // on how many events, by invariant
}

type forgiven struct {
	Type   string `json:"type,omitempty"`
	Member string `json:"member,omitempty"`
	How    string `json:"how"`
	Value  string `json:"value,omitempty"`
	Count  int    `json:"count"`
}

// errEmpty: nothing was checked, which is no verdict, since a valid log has at least one event.
var errEmpty = errors.New("there is no event in it, so nothing was checked")

type checking struct {
	lenient  bool
	most     int // violations that are shown, 0: all
	stdin    io.Reader
	stderr   io.Writer
	reporter reporter

	invariants map[string]contract.Invariant
	sum        summary
	passed     forgivenCounts
}

// all checks everything that is named. It reports what cannot be read, and checks the rest.
func (c *checking) all(args []string) int {
	c.sum = summary{ByInvariant: map[string]int{}, Lenient: c.lenient, Skipped: map[string]int{}}
	c.invariants = map[string]contract.Invariant{}
	c.passed = forgivenCounts{}
	for _, i := range contract.Load().Invariants {
		c.invariants[i.ID] = i
	}
	if len(args) == 0 {
		args = []string{stdinName}
	}
	for _, arg := range args {
		found, err := inputs(arg)
		if err != nil {
			c.unreadable(err)
		}
		for _, in := range found {
			if err := c.one(in); err != nil {
				c.unreadable(fmt.Errorf("%s: %w", in.name, err))
			}
		}
	}
	c.sum.Forgiven = c.passed.list()
	c.reporter.summary(&c.sum)
	switch {
	case c.sum.Unreadable > 0:
		return exitWrong
	case c.sum.Violations > 0:
		return exitFound
	}
	return exitWell
}

func (c *checking) unreadable(err error) {
	c.sum.Unreadable++
	_, _ = fmt.Fprintf(c.stderr, "check: %s\n", printable(err.Error()))
}

func (c *checking) one(in input) error {
	file, err := in.open(c.stdin)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	report, err := audit.Log(file, audit.Options{Lenient: c.lenient, MaxViolations: -1, Found: func(v audit.Violation) {
		c.sum.ByInvariant[v.Invariant]++
		if c.most > 0 && c.sum.Violations >= c.most {
			c.sum.Omitted++
		} else {
			c.reporter.violation(in.name, v, c.invariants[v.Invariant])
		}
		c.sum.Violations++
	}})
	c.sum.Files++
	c.sum.Runs += report.Runs
	c.sum.Unfinished += report.Unfinished
	c.sum.Fragments += report.Fragments
	for _, s := range report.Skipped {
		c.sum.Skipped[s.Invariant] += s.Count
	}
	c.sum.Events += report.Lines
	if report.Found > 0 {
		c.sum.FilesBroken++
	}
	c.passed.add(report.Forgiven)
	if err == nil && report.Lines == 0 {
		return errEmpty
	}
	return err
}
