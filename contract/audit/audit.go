package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
)

const (
	DefaultMaxViolations = 100
	DefaultOpenRuns      = 1 << 20
)

// ErrTooManyRuns: more runs are open at once than Options.OpenRuns allows.
var ErrTooManyRuns = errors.New("audit: too many runs are open at the same time")

// Violation is one broken invariant in a recorded log.
type Violation struct {
	Invariant string
	// RunID is empty when the line cannot be read.
	RunID string
	// Line is the line of the log, from 1; for a missing event at the end, the run's last line.
	Line int
	// Seq is the event's number, 0 when it cannot be read.
	Seq uint64
	// Explanation describes the violation for people.
	Explanation string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("line %d: run %q violates %s: %s", v.Line, v.RunID, v.Invariant, v.Explanation)
}

// Options say how Log reads a log. The zero Options are strict.
type Options struct {
	// Lenient is for logs of other producers. Log then accepts and counts (Report.Forgiven) deviations
	// in members that are not Demanded: members that are missing, null, unknown or of another form,
	// other times, unknown event types and codes, and a question before its change of state. An
	// invariant that needs missing data is not checked, and counted in Report.Skipped. The log may
	// begin in mid-run. The doc of command contract/check lists everything.
	Lenient bool
	// MaxViolations limits Report.Violations, but not Report.Found. 0 means DefaultMaxViolations, a
	// negative value none at all.
	MaxViolations int
	// OpenRuns bounds the open runs, each of which takes about 2 KiB. 0 means DefaultOpenRuns.
	OpenRuns int
	// First stops at the first violation.
	First bool
	// Found, unless nil, gets each violation as soon as it is found.
	Found func(Violation)
}

// Report is what Log found.
type Report struct {
	Lines int // the number of lines that are not empty
	Runs  int
	// Unfinished counts the runs that have not ended.
	Unfinished int
	// Fragments counts the runs whose log begins in mid-run, which Options.Lenient accepts.
	Fragments int
	// Violations lists up to Options.MaxViolations violations in line order; a missing event at the
	// end comes last. With Options.Lenient, a question before its change of state comes with it.
	Violations []Violation
	// Found is the number of all violations.
	Found int
	// Forgiven has the accepted deviations (Options.Lenient), the most frequent first.
	Forgiven []Forgiven
	// Skipped has the invariants that could not be decided on some events, ordered by id.
	Skipped []Skipped
}

// Skipped counts the events on which an invariant could not be checked for lack of data.
type Skipped struct {
	Invariant string
	Count     int
}

// First returns the first violation, or nil.
func (r *Report) First() *Violation {
	if len(r.Violations) == 0 {
		return nil
	}
	return &r.Violations[0]
}

// Check reads a log that a store of this library kept, and decides every invariant on it. It is a
// strict Log that stops at the first violation.
//
// A log that ends between two events of one commit is a violation: a store never keeps half a
// commit.
func Check(r io.Reader) (Report, error) { return Log(r, Options{First: true}) }

// Log reads a log to its end: one encoded event per line, of one run or of several interleaved. It
// skips empty lines. An error means that the log could not be read, or is ErrTooManyRuns; the
// report then covers the lines that were read.
func Log(r io.Reader, o Options) (Report, error) {
	a := auditor{options: o, checker: NewChecker()}
	a.foreign = newNormalizer(a.checker)
	err := a.read(newLines(r))
	if err == nil && (!o.First || a.report.Found == 0) {
		for _, v := range a.foreign.close() {
			a.found(v)
		}
	}
	tally := a.checker.Tally()
	a.report.Lines, a.report.Runs, a.report.Unfinished, a.report.Fragments = tally.Lines, tally.Runs, tally.Unfinished,
		a.foreign.fragments
	for _, id := range slices.Sorted(maps.Keys(tally.Skipped)) {
		a.report.Skipped = append(a.report.Skipped, Skipped{id, tally.Skipped[id]})
	}
	a.report.Forgiven = a.foreign.forgiven.list()
	return a.report, err
}

type auditor struct {
	options Options
	checker *Checker
	foreign *normalizer // with Options.Lenient
	report  Report
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
		for _, v := range a.line(line) {
			a.found(v)
		}
		if open := max(a.checker.Open(), len(a.foreign.runs)); open > limit {
			return fmt.Errorf("%w: %d at line %d; split the log by run", ErrTooManyRuns, open, lines.read)
		}
		if err != nil || a.options.First && a.report.Found > 0 {
			return nil //nolint:nilerr // the end
		}
	}
}

func (a *auditor) line(line []byte) []Violation {
	if !a.options.Lenient || len(bytes.TrimSpace(line)) == 0 {
		return a.checker.Line(line)
	}
	return a.foreign.read(line)
}

// longest bounds an explanation in characters, because it may quote the log.
const longest = 600

func (a *auditor) found(v Violation) {
	if long := []rune(v.Explanation); len(long) > longest {
		v.Explanation = string(long[:longest]) + "…"
	}
	limit := a.options.MaxViolations
	if limit == 0 {
		limit = DefaultMaxViolations
	}
	if len(a.report.Violations) < limit {
		a.report.Violations = append(a.report.Violations, v)
	}
	a.report.Found++
	if a.options.Found != nil {
		a.options.Found(v)
	}
}

// lines reads a log line by line, into reused memory.
type lines struct {
	from *bufio.Reader
	line []byte
	read int // lines, including the one that next returned
}

func newLines(r io.Reader) *lines { return &lines{from: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its line break. If the line is too long for an event, next
// returns a part that is also too long. The line is valid until the next call; the last one comes
// with io.EOF.
func (l *lines) next() ([]byte, error) {
	l.line = l.line[:0]
	l.read++
	for {
		part, err := l.from.ReadSlice('\n')
		if n := len(part); err == nil {
			part = part[:n-1]
		}
		if room := fcmp.MaxEvent + 1 - len(l.line); room > 0 {
			l.line = append(l.line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.line, err
		}
	}
}
