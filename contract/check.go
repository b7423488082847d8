package contract

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Violation is one broken invariant in a recorded log (G4).
type Violation struct {
	// Invariant is its id in the contract.
	Invariant string
	// RunID is empty when the line cannot be read.
	RunID string
	// Line is the line of the log, from 1; for what is missing at the end, the run's last.
	Line int
	// Seq is the event's number, 0 when it cannot be read.
	Seq uint64
	// Explanation says what is wrong, for a person.
	Explanation string
}

func (v *Violation) Error() string {
	return fmt.Sprintf("line %d: run %q violates %s: %s", v.Line, v.RunID, v.Invariant, v.Explanation)
}

// Report is what Check found.
type Report struct {
	Lines int // without empty ones
	Runs  int
	// Violation is the first, nil when every invariant holds.
	Violation *Violation
}

// Check reads a recorded event log, one encoded event a line, of one run or of several interleaved,
// and decides every invariant of the contract on it (G4). Empty lines are skipped. It stops at the
// first violation. The memory it takes is a small record for each run, a very small one for each
// that has ended, and one line. An error means that the log could not be read to its end. Package
// audit tells every violation, and takes logs of other producers.
//
// A log that ends between two events that belong to one commit is a violation: what a store keeps
// never does.
func Check(r io.Reader) (Report, error) { return NewChecker().log(r) }

// CheckLog is Check under this contract.
func (l *Lifecycle) CheckLog(r io.Reader) (Report, error) { return l.Checker().log(r) }

func (c *Checker) log(r io.Reader) (Report, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	report := func(v *Violation) Report {
		tally := c.Tally()
		return Report{Lines: tally.Lines, Runs: tally.Runs, Violation: v}
	}
	for {
		line, err := readLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return report(nil), fmt.Errorf("contract: reading the log after line %d: %w", c.line, err)
		}
		if found := c.Line(line); len(found) > 0 {
			return report(&found[0]), nil
		}
		if err != nil {
			break
		}
	}
	if left := c.Close(); len(left) > 0 {
		return report(&left[0]), nil
	}
	return report(nil), nil
}

// readLine returns the next line, of a too long one only a part that is too long as well.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= MaxEvent {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte{'\n'}), err
		}
	}
}
