package audit

import (
	"errors"
	"fmt"
	"io"

	"github.com/interlude-go/interlude/contract"
)

// The bounds of an audit, where Options says nothing else.
const (
	DefaultKeep     = 100
	DefaultOpenRuns = 1 << 20
)

// ErrTooManyRuns says that more runs were open at the same time than Options.OpenRuns allows.
var ErrTooManyRuns = errors.New("audit: too many runs are open at the same time")

// Options say how a log is read. The zero Options are strict.
type Options struct {
	// Lenient forgives what Allowances lists: members that no invariant needs may be missing, members that are not allowed to be
	// null may be null where they may be missing, and members that the contract does not know are passed over.
	Lenient bool
	// Keep bounds Report.Violations. 0: DefaultKeep; negative: none are kept. All are counted.
	Keep int
	// OpenRuns bounds the runs that have begun and not ended, each of which takes about 2 KiB. 0: DefaultOpenRuns.
	OpenRuns int
	// Found is called with each violation as soon as it is found. It may be nil.
	Found func(contract.Violation)
}

// Report is what Log found.
type Report struct {
	Lines int // without empty ones
	Runs  int
	// Unfinished are the runs that have not ended, and that are in order as far as they go.
	Unfinished int
	// Violations are the first in each run, and one for each line whose run cannot be told; in the order in which they were found, which
	// is that of their lines but for what is missing at the end. At most Options.Keep of them.
	Violations []contract.Violation
	// Found is how many violations there are.
	Found int
	// Forgiven is what Options.Lenient passed over, the most frequent first.
	Forgiven []Forgiven
}

// Log reads a log to its end. An error means that it could not be read, or is ErrTooManyRuns; the report tells what was seen until then.
func Log(r io.Reader, o Options) (Report, error) {
	a := auditor{options: o, checker: contract.NewChecker(), forgiven: forgiven{}}
	if o.Lenient {
		a.lenient = newCompleter(a.forgiven)
	}
	lacking := 0
	err := a.read(newLines(r))
	if err == nil {
		left := a.checker.Close() // at most one for each run
		lacking = len(left)
		for _, v := range left {
			a.found(v)
		}
	}
	tally := a.checker.Tally()
	a.report.Lines, a.report.Runs, a.report.Unfinished = tally.Lines, tally.Runs, tally.Unfinished-lacking
	a.report.Forgiven = a.forgiven.list()
	return a.report, err
}

type auditor struct {
	options  Options
	checker  *contract.Checker
	lenient  *completer // nil: strict
	forgiven forgiven
	report   Report
}

func (a *auditor) read(lines *lines) error {
	limit := a.options.OpenRuns
	if limit <= 0 {
		limit = DefaultOpenRuns
	}
	for {
		line, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("audit: reading the log after line %d: %w", lines.read-1, err)
		}
		if a.lenient != nil {
			line = a.lenient.complete(line)
		}
		if v := a.checker.Line(line); v != nil {
			a.found(*v)
		}
		if open := a.checker.Tally().Unfinished; open > limit {
			return fmt.Errorf("%w: %d at line %d; split the log by run", ErrTooManyRuns, open, lines.read)
		}
		if err != nil {
			return nil //nolint:nilerr // the end
		}
	}
}

// longest bounds an explanation in characters: it may quote what stands in the log.
const longest = 600

func (a *auditor) found(v contract.Violation) {
	if long := []rune(v.Explanation); len(long) > longest {
		v.Explanation = string(long[:longest]) + "…"
	}
	keep := a.options.Keep
	if keep == 0 {
		keep = DefaultKeep
	}
	if len(a.report.Violations) < keep {
		a.report.Violations = append(a.report.Violations, v)
	}
	a.report.Found++
	if a.lenient != nil {
		a.lenient.forget(v.RunID)
	}
	if a.options.Found != nil {
		a.options.Found(v)
	}
}
