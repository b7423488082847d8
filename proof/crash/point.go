package crash

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/store"
)

// Point is one call of a host to its store. Its name describes the call, and is the same in each
// play of the scenario.
type Point struct {
	Name string
	// Write says that the call changes the store. Only then is there a difference between before
	// and after.
	Write bool
	// Upkeep says that the call is about no run.
	Upkeep bool
}

// Outcome is what happens to the host, or to the answer, at a point.
type Outcome string

// The outcomes. A read has no Before, which is the same as After to the store.
const (
	// Before ends the host before the store has executed the call.
	Before Outcome = "before"
	// After ends the host after the store has executed the call.
	After Outcome = "after"
	// Lost lets the host continue with an error instead of the store's answer.
	Lost Outcome = "lost"
)

// Outcomes returns the outcomes that differ at the point.
func (p Point) Outcomes() []Outcome {
	if p.Write {
		return []Outcome{Before, After, Lost}
	}
	return []Outcome{After, Lost}
}

// Fault is an outcome at a point. The zero value is no fault.
type Fault struct {
	Point   string
	Outcome Outcome
}

// The errors that a host gets at its fault, and after its end.
var (
	ErrGone = errors.New("crash: the host has ended")
	ErrLost = errors.New("crash: the answer is lost")
)

// ErrNotReached is the error of a host that ended without having come to the point of its fault. A
// host that is a process exits with StatusNotReached then.
var ErrNotReached = errors.New("crash: the host did not come to the point")

// StatusNotReached is the exit status for ErrNotReached.
const StatusNotReached = 3

// nameOf returns the run's name in its scenario: its id without the case.
func nameOf(id string) string { return id[strings.LastIndexByte(id, '.')+1:] }

// version names a record of a run.
func version(r *store.Run) string { return fmt.Sprintf("%s v%d %s", nameOf(r.ID), r.Version, r.State) }

// about returns a point that is about these runs, or about none.
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
