package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/interlude-go/interlude/fsm"
)

// verdict has the findings of the checks, and the totals.
type verdict struct {
	Correct    bool        `json:"correct"`
	Violations []violation `json:"violations"`

	Seed      uint64  `json:"seed"`
	Nodes     int     `json:"nodes"`
	Processes int     `json:"processes"`
	Seconds   float64 `json:"seconds"`

	Runs     int               `json:"runs"`
	RunsPerS float64           `json:"runs_per_s"`
	States   map[fsm.State]int `json:"states"`
	Turns    int               `json:"turns"`
	ByNode   map[string]int    `json:"turns_by_node"`
	Repeated int               `json:"turns_repeated"`

	Replies    int64 `json:"replies_accepted"`
	Duplicates int64 `json:"duplicates_told_apart"`
	Refusals   int64 `json:"replies_refused"`
	Unsure     int64 `json:"unknown_outcomes"`
	Cancels    int64 `json:"cancels"`
	Decided    int   `json:"auto_decisions"`
	Timeouts   int   `json:"timeouts"`

	Disturbances map[harm]int `json:"disturbances"`
	LeasesLost   int          `json:"leases_lost"`
	StaleRefused int          `json:"stale_writes_refused"`
	Takeovers    int          `json:"takeovers"`
	LongestMS    int64        `json:"longest_takeover_ms"`

	FailoverMS int64 `json:"longest_failover_ms,omitempty"`

	Incidents []incident `json:"incidents,omitempty"`

	Samples int64          `json:"capacity_samples"`
	Changes int            `json:"capacity_changes"`
	Held    map[string]int `json:"most_slots_held"`
	Events  int            `json:"events_checked"`
}

func (a *findings) verdict() *verdict {
	l := a.ledger
	v := &verdict{
		Correct: len(a.violations) == 0, Violations: a.violations, Seed: a.o.seed, Nodes: a.o.nodes,
		Processes: len(a.fleet.processes),
		Seconds:   a.took.Seconds(), Runs: a.o.runs, RunsPerS: float64(a.o.runs) / a.took.Seconds(), States: a.states,
		Turns:  a.turns,
		ByNode: make(map[string]int), Repeated: a.requeued, Replies: l.replies.Load(), Duplicates: l.duplicates.Load(),
		Refusals: l.refusals.Load(),
		Unsure:   l.unsure.Load(), Cancels: l.cancels.Load(), Decided: a.decided, Timeouts: a.timeouts,
		Disturbances: a.chaos.counts(),
		LeasesLost:   a.fenced, StaleRefused: a.refused, Takeovers: a.takeovers, LongestMS: a.longest.Milliseconds(),
		Samples: a.capacity.samples.Load(), Changes: a.capacity.changes, Held: a.capacity.held, Events: a.events,
	}
	if r := a.server.replicas; r != nil {
		v.FailoverMS = r.longest.Milliseconds()
	}
	if a.outside != nil {
		v.Incidents = a.outside.judge(a.ledger, a.sheet)
	}
	for _, x := range a.executions {
		v.ByNode[a.fleet.process(x.process).name]++
	}
	return v
}

// print writes the verdict as text, or as one line of JSON.
func (v *verdict) print(out io.Writer, asJSON bool) error {
	if asJSON {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s\n", line)
		return err
	}
	for i, found := range v.Violations {
		if i == 20 {
			fmt.Fprintf(out, "… and %d more\n", len(v.Violations)-i)
			break
		}
		fmt.Fprintf(out, "\nVIOLATION (%s) %s: %s\n", found.Check, found.Run, found.What)
		for _, e := range found.log {
			fmt.Fprintf(out, "  %s\n", e.Body)
		}
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("\nruns", "%d in %s: %.0f/s; %s", v.Runs,
		time.Duration(v.Seconds*float64(time.Second)).Round(100*time.Millisecond), v.RunsPerS, counts(v.States))
	row("turns", "%d, of which %d were repeated after their node was lost; by node: %s", v.Turns, v.Repeated,
		counts(v.ByNode))
	row("replies", "%d accepted, %d refused as too late, %d duplicates told apart", v.Replies, v.Refusals, v.Duplicates)
	row("others", "%d cancels, %d automatic decisions, %d waits timed out, %d calls of unknown outcome made again",
		v.Cancels, v.Decided, v.Timeouts, v.Unsure)
	row("disturbances", "%s", counts(v.Disturbances))
	row("leases lost", "%d; stale writes tried again and refused: %d", v.LeasesLost, v.StaleRefused)
	row("takeovers", "%d runs; the longest %s after its node came to harm", v.Takeovers,
		time.Duration(v.LongestMS)*time.Millisecond)
	if v.FailoverMS > 0 {
		row("failovers", "the longest time from a promotion until the library wrote again: %s",
			time.Duration(v.FailoverMS)*time.Millisecond)
	}
	for _, i := range v.Incidents {
		row(i.Name, "%s", i)
	}
	row("slots", "%d samples, %d changes of capacity; most held: %s", v.Samples, v.Changes, counts(v.Held))
	row("events", "%d checked", v.Events)
	by := make(map[string]int)
	for _, found := range v.Violations {
		by[found.Check]++
	}
	for _, check := range checks {
		row(check, "%s", map[bool]string{true: "ok", false: fmt.Sprintf("%d VIOLATIONS", by[check])}[by[check] == 0])
	}
	row("verdict", "%s (seed %d)", map[bool]string{true: "correct", false: "WRONG"}[v.Correct], v.Seed)
	return t.Flush()
}

// counts returns how often each name occurs, as text.
func counts[K ~string](m map[K]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
