package crash

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// Point is one thing that a host asks of its store, named by what it is about: the name is the same
// whenever the scenario is played.
type Point struct {
	Name string
	// Write says that the store changes something. Only then is there a difference between before
	// and after.
	Write bool
	// Upkeep says that it is about no run.
	Upkeep bool
}

// Outcome is what becomes of the host, or of the answer, at a point.
type Outcome string

// The outcomes. A read has no Before: to the store, it is the same as After.
const (
	// Before: the host ends, and the store has not done it.
	Before Outcome = "before"
	// After: the host ends, and the store has done it.
	After Outcome = "after"
	// Lost: the store has done it, and the host goes on with an error instead of the answer.
	Lost Outcome = "lost"
)

// Outcomes are those that differ at the point.
func (p Point) Outcomes() []Outcome {
	if p.Write {
		return []Outcome{Before, After, Lost}
	}
	return []Outcome{After, Lost}
}

// Fault is an outcome at a point. The zero value is none.
type Fault struct {
	Point   string
	Outcome Outcome
}

// What a host is told that is ended, or whose answer is lost.
var (
	ErrGone = errors.New("crash: the host has ended")
	ErrLost = errors.New("crash: the answer is lost")
)

// nameOf is the run's name in its scenario: its id without the case that it belongs to.
func nameOf(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// version names a record of a run.
func version(r *store.Run) string { return fmt.Sprintf("%s v%d %s", nameOf(r.ID), r.Version, r.State) }

// about is a point about these runs, or about none.
func about(verb string, write bool, runs []store.Run) Point {
	names := make([]string, len(runs))
	for i := range runs {
		names[i] = version(&runs[i])
	}
	return named(verb, write, names)
}

func named(verb string, write bool, names []string) Point {
	if len(names) == 0 {
		return Point{Name: verb + ": nothing", Write: write, Upkeep: true}
	}
	slices.Sort(names)
	return Point{Name: verb + ": " + strings.Join(names, ", "), Write: write}
}

// Ends reports whether the fault ends its host.
func (f Fault) Ends() bool { return f.Outcome == Before || f.Outcome == After }
