package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/interlude-go/interlude/store"
)

// report has the results. Times are in milliseconds unless the name says otherwise.
type report struct {
	Store       string `json:"store"`
	Runs        int    `json:"runs"`
	Concurrency int    `json:"concurrency"`
	Parked      int    `json:"parked"`
	Finished    int    `json:"finished,omitempty"`
	Across      bool   `json:"across,omitempty"` // the replies went through another node
	GroupCommit bool   `json:"group_commit"`
	Followed    bool   `json:"followed"` // a follower read the events of each run
	Feed        bool   `json:"feed"`     // a reader of a feed read the events of all runs
	Telemetry   string `json:"telemetry"`

	Nodes              int     `json:"nodes,omitempty"`
	ClaimsPerTurn      float64 `json:"claims_per_turn,omitempty"`      // that lock their pools
	TransactionsPerRun float64 `json:"transactions_per_run,omitempty"` // sent by all nodes, with their polls
	Standby            float64 `json:"standby_ms,omitempty"`           // delay of a synchronous standby
	IdlePerS           float64 `json:"idle_per_node_s,omitempty"`      // transactions that an idle node sends
	TransactPS         float64 `json:"transact_per_s,omitempty"`       // the host's transactions with notifications
	HintShare          float64 `json:"transact_ratio,omitempty"`       // relative to those without
	HintedP50          float64 `json:"hinted_p50_ms,omitempty"`        // from the host's commit until a node starts the turn
	HintedP99          float64 `json:"hinted_p99_ms,omitempty"`

	RunsPerS      float64 `json:"runs_per_s"`
	ReplyP50      float64 `json:"reply_p50_ms"` // from the reply until the next turn is stored as running
	ReplyP99      float64 `json:"reply_p99_ms"`
	CommitsPerRun float64 `json:"commits_per_run"`
	FlushesPerRun float64 `json:"flushes_per_run"`
	RowsPerRun    float64 `json:"rows_per_run"`
	BytesPerRun   float64 `json:"bytes_per_run"`
	AllocsPerRun  float64 `json:"allocs_per_run"`
	CPUPerRun     float64 `json:"cpu_us_per_run"` // on all cores; 0 if unavailable
	RSS           float64 `json:"rss_mb"`
	ClaimP50      float64 `json:"claim_p50_ms"`
	DeadlinesPerS float64 `json:"deadlines_per_s"`
	CeilingRows   float64 `json:"ceiling_rows_per_s"` // plain batched writes of rows of the same size
	CeilingRatio  float64 `json:"ceiling_ratio"`
	FlushP50      float64 `json:"flush_p50_ms"` // one empty durable flush

	FloorRuns  float64 `json:"floor_runs_per_s,omitempty"` // the six writes of each run, without the library
	FloorRatio float64 `json:"floor_ratio,omitempty"`

	GoroutinesLeft int `json:"goroutines_left"` // after the host has stopped

	FirstRun     float64 `json:"open_first_run_ms"`         // from opening the store until the first run has ended
	Recovery     float64 `json:"recovery_s,omitempty"`      // until all parked runs were read as recovered
	DuringRunsPS float64 `json:"recovery_runs_s,omitempty"` // round trips during the recovery

	RestartCommits  int     `json:"restart_commits"`        // of the start, without the round trips
	InboxPage       int     `json:"inbox_page,omitempty"`   // questions on the first page
	InboxP50        float64 `json:"inbox_p50_ms,omitempty"` // to read that page
	InboxP99        float64 `json:"inbox_p99_ms,omitempty"`
	ChildrenStarted float64 `json:"children_started_s,omitempty"` // until all of a run's children ask, and it waits
	ChildrenEnded   float64 `json:"children_ended_s,omitempty"`   // from their replies until that run has ended
	ChildCPU        float64 `json:"child_cpu_us,omitempty"`       // processor time per child, from its reply
	FollowersP99    float64 `json:"followers_p99_ms,omitempty"`   // from sending a message until its follower has it
	FollowersEPS    float64 `json:"followers_events_per_s,omitempty"`
	ReplayEPS       float64 `json:"replay_events_per_s,omitempty"`
	ReplayHeap      float64 `json:"replay_heap_mb,omitempty"`
	Soak            *soaked `json:"soak,omitempty"`

	written store.Counters // during the warm-up; gives the mean size of a row
}

func (r *report) rowBytes() int { return int(r.written.Bytes / max(r.written.Rows, 1)) }

// compare relates the library's speed to the disk's.
func (r *report) compare(before, after probe) {
	r.CeilingRows = (before.rowsPerS + after.rowsPerS) / 2
	r.CeilingRatio = r.RunsPerS * r.RowsPerRun / r.CeilingRows
	r.FlushP50 = (before.flushP50 + after.flushP50) / 2
}

func (r *report) print(w io.Writer, asJSON bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	kind := r.Store
	if r.Store == "sqlite" {
		kind += ", synchronous=FULL"
	}
	if !r.GroupCommit {
		kind += ", no group commit"
	}
	if r.Across {
		kind += ", replies by another node"
	}
	if r.Followed {
		kind += ", each run followed"
	}
	if r.Feed {
		kind += ", with a feed"
	}
	if r.Telemetry != "none" {
		kind += ", telemetry: " + r.Telemetry
	}
	line("store", "%s", kind)
	line("runs / at one time / parked", "%d / %d / %d", r.Runs, r.Concurrency, r.Parked)
	if r.Finished > 0 {
		line("finished before", "%d", r.Finished)
	}
	line("round trips", "%.0f runs/s", r.RunsPerS)
	line("reply until running, p50 / p99", "%.2f / %.2f ms", r.ReplyP50, r.ReplyP99)
	if r.Nodes > 0 {
		line("nodes / locking claims a turn / transactions a run", "%d / %.2f / %.1f", r.Nodes, r.ClaimsPerTurn,
			r.TransactionsPerRun)
	}
	line("claim, p50", "%.2f ms", r.ClaimP50)
	line("a run's commits / flushes / rows", "%.2f / %.3f / %.1f", r.CommitsPerRun, r.FlushesPerRun, r.RowsPerRun)
	line("a run's bytes / allocations / CPU", "%.0f / %.0f / %.0f µs", r.BytesPerRun, r.AllocsPerRun, r.CPUPerRun)
	line("plain batched writes", "%.0f rows/s", r.CeilingRows)
	line("share written by the runs", "%.0f %%", 100*r.CeilingRatio)
	line("an empty durable flush, p50", "%.3f ms", r.FlushP50)
	line("open until the first run's end", "%.0f ms", r.FirstRun)
	line("resident memory", "%.0f MB", r.RSS)
	line("goroutines left at the end", "%d", r.GoroutinesLeft)
	optional := func(wanted bool, name, format string, args ...any) {
		if wanted {
			line(name, format, args...)
		}
	}
	optional(r.FloorRuns > 0, "the six writes without the library / ratio to that", "%.0f runs/s / %.2f", r.FloorRuns,
		r.FloorRatio)
	optional(r.Recovery > 0, "recovery of the parked / runs during it", "%.2f s / %.0f runs/s", r.Recovery,
		r.DuringRunsPS)
	optional(r.Recovery > 0, "commits caused by the restart", "%d", r.RestartCommits)
	optional(r.DeadlinesPerS > 0, "deadlines that fell due together", "%.0f fired/s", r.DeadlinesPerS)
	optional(r.InboxP99 > 0, "first page of an inbox: questions / p50 / p99", "%d / %.2f / %.2f ms", r.InboxPage,
		r.InboxP50, r.InboxP99)
	optional(r.ChildrenEnded > 0, "children: started / replies until the parent's end / CPU",
		"%.2f s / %.2f s / %.0f µs", r.ChildrenStarted, r.ChildrenEnded, r.ChildCPU)
	optional(r.Standby > 0, "a synchronous standby applies after", "%.0f ms", r.Standby)
	optional(r.IdlePerS > 0, "an idle node's transactions", "%.2f /s", r.IdlePerS)
	optional(r.TransactPS > 0, "the host's transactions / of those without hints", "%.0f /s / %.2f", r.TransactPS,
		r.HintShare)
	optional(r.TransactPS > 0, "from such a commit until a node starts the turn, p50 / p99", "%.1f / %.1f ms",
		r.HintedP50, r.HintedP99)
	optional(r.FollowersEPS > 0, "followers: events / message until seen, p99", "%.0f /s / %.2f ms", r.FollowersEPS,
		r.FollowersP99)
	optional(r.ReplayEPS > 0, "replay / heap during it", "%.0f events/s / %.1f MB", r.ReplayEPS, r.ReplayHeap)
	if s := r.Soak; s != nil {
		line("soak", "%s at %.0f runs/s", s.For, s.RunsPerS)
		line("heap in each tenth, MB", "%s", each(s.HeapMB))
		line("resident in each tenth, MB", "%s", each(s.RSSMB))
		line("file in each tenth, MB", "%s", each(s.FileMB))
		line("goroutines before / after", "%d / %d", s.GoroutinesBefore, s.GoroutinesAfter)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !asJSON {
		return nil
	}
	return json.NewEncoder(w).Encode(r)
}

func each(all []float64) string {
	texts := make([]string, len(all))
	for i, v := range all {
		texts[i] = strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strings.Join(texts, " ")
}

func minus(a, b store.Counters) store.Counters {
	return store.Counters{Commits: a.Commits - b.Commits, Flushes: a.Flushes - b.Flushes, Rows: a.Rows - b.Rows,
		Bytes: a.Bytes - b.Bytes, Claims: a.Claims - b.Claims}
}

// percentile returns the value in milliseconds, and 0 for an empty slice.
func percentile(all []time.Duration, p int) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[(len(all)-1)*p/100]) / 1e6
}

// resident returns the process's resident memory in MB; if that is unavailable, the memory of the
// Go runtime.
func resident() float64 {
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
				if kb, err := strconv.ParseFloat(f[1], 64); err == nil {
					return kb / 1024
				}
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / (1 << 20)
}
