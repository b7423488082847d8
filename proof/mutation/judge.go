package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// least is the share of mutants that the tests of each package must detect.
const least = 0.9

// verdict is the result for one package.
type verdict struct {
	pkg    string
	count  map[status]int
	spent  time.Duration // CPU time
	listed bool          // these are former survivors, whose share says nothing about the package

	unexplained []mutant
	late        []mutant // their tests ran into the time limit
	stale       []entry
}

// judge compares the mutants that survived with the package's list. All says that no file was left
// out; otherwise no entry of the list can be called stale.
func judge(pkg string, mutants []mutant, list []entry, all bool) verdict {
	v := verdict{pkg: pkg, count: make(map[status]int)}
	left := make(map[entry]int)
	for _, e := range list {
		left[e.same()]++
	}
	late := make(map[entry]int) // a mutant that timed out does not make its explanation stale
	for _, m := range mutants {
		v.count[m.status]++
		switch m.status {
		case lived, notCovered:
			if left[m.entry()]--; left[m.entry()] < 0 {
				v.unexplained = append(v.unexplained, m)
			}
		case timedOut:
			late[m.entry()]++
			v.late = append(v.late, m)
		}
	}
	for _, e := range list {
		if same := e.same(); all && left[same] > late[same] {
			v.stale = append(v.stale, e)
			left[same]--
		}
	}
	return v
}

// seen counts the mutants that were detected: a test failed or did not end.
func (v verdict) seen() int { return v.count[killed] + v.count[timedOut] }

// all counts all mutants that compile.
func (v verdict) all() int { return v.seen() + v.count[lived] + v.count[notCovered] }

// share is the detected share of the mutants.
func (v verdict) share() float64 {
	if v.all() == 0 {
		return 0
	}
	return float64(v.seen()) / float64(v.all())
}

// err joins everything that is wrong with the package.
func (v verdict) err() error {
	var wrong []error
	if v.share() < least && !v.listed {
		wrong = append(wrong, fmt.Errorf("%s: %d of %d mutants are seen, %.1f %%: want %.0f %%", v.pkg, v.seen(),
			v.all(), 100*v.share(), 100*least))
	}
	for _, m := range v.unexplained {
		wrong = append(wrong, fmt.Errorf("%s/%s:%d:%d: %s %s and is not explained: %s", v.pkg, m.file, m.line, m.column,
			m.kind, strings.ToLower(string(m.status)), m.after))
	}
	for _, e := range v.stale {
		wrong = append(wrong, fmt.Errorf("%s/%s: %s is explained and does not survive: %s", v.pkg, e.file, e.kind,
			e.after))
	}
	return errors.Join(wrong...)
}

// table writes a line for each package.
func table(w io.Writer, verdicts []verdict) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var text strings.Builder
	text.WriteString("package\tmutants\tkilled\ttimed out\tlived\tnot covered\t" +
		"seen\tdo not compile\tprocessor time\t\n")
	for _, v := range verdicts {
		fmt.Fprintf(&text, "%s\t%d\t%d\t%d\t%d\t%d\t%.1f %%\t%d\t%s\t\n", v.pkg, v.all(), v.count[killed],
			v.count[timedOut], v.count[lived], v.count[notCovered],
			100*v.share(), v.count[notViable], v.spent.Round(time.Second))
	}
	if _, err := io.WriteString(t, text.String()); err != nil {
		return err
	}
	return t.Flush()
}
