// Package sample divides groups of similar proofs between the commits that CI tests. The hash of a
// commit selects the part of each group that CI runs for it, so that several commits together run
// everything. CI prints the selection when it begins, and a proof that is not selected is skipped
// with a reason. Tests that are run by hand, and CI with INTERLUDE_FULL=1, run all proofs.
//
// Neighbours: .ci/run derives the number from the commit; its proofs are those of docs/proof.md.
package sample

import (
	"os"
	"strconv"
	"testing"
)

// Env is the environment variable with the number from which the selection is computed. If it is
// not set, every part is selected.
const Env = "INTERLUDE_SAMPLE"

// number returns the number in Env, and false if every part is selected.
func number() (uint64, bool) {
	n, err := strconv.ParseUint(os.Getenv(Env), 10, 64)
	return n, err == nil
}

// Has reports whether part i of the given number of parts is selected. It takes i modulo parts, so
// that i can be the index of a case in a list.
func Has(i, parts int) bool {
	n, divided := number()
	return !divided || n%uint64(parts) == uint64(i%parts)
}

// Require skips the test unless part i is selected.
func Require(tb testing.TB, i, parts int) {
	tb.Helper()
	if !Has(i, parts) {
		tb.Skipf("not run: other commits show it (part %d of %d; %s is %s). Without the variable it is run",
			i%parts+1, parts, Env, os.Getenv(Env))
	}
}

// Search is Require for a long test that searches in a single goroutine, where the race detector
// can find nothing and takes ten times as long. Without the detector no part is left out: every
// commit runs such a test once whole.
func Search(tb testing.TB, i int) {
	tb.Helper()
	if Race {
		Require(tb, i, SearchParts)
	}
}

// Agents are the real agents. The selected one runs its whole suite and every story. The others are
// only started, asked, parked, resumed and killed.
var Agents = []string{"codex", "gemini", "opencode", "qwen"}

// AgentsOverACP are the real agents that engine/acp drives, too. It runs the whole suite with each
// of them in the commits in which another one is run in full, since these are the longest tests of
// all.
var AgentsOverACP = []string{"qwen", "opencode"}

// These are the parts into which the other proofs are divided.
const (
	// CrashParts divide the cases of proof/crash on SQLite and PostgreSQL. On the memory store
	// every case is run.
	CrashParts = 4
	// MutantParts divide the changed contracts that contract's laws and proof/explore must notice.
	MutantParts = 8
	// AllowanceParts divide what a lenient reader of logs forgives.
	AllowanceParts = 2
	// BugParts divide the bugs of proof/museum.
	BugParts = 4
	// SuiteParts divide the ways to PostgreSQL, beside the plain one, on which the suite of stores
	// is run: every option of the driver and the server, or PgBouncer. Of either, a commit runs
	// half the cases.
	SuiteParts = 2
	// ServerParts divide the requirements' cases and the stories on PostgreSQL. On the memory store
	// and on SQLite every commit runs them all.
	ServerParts = 2
	// NoticeParts divide the drills in which senders of notices are killed: on SQLite, on
	// PostgreSQL.
	NoticeParts = 2
	// DoorParts divide the races of proof/doors: on SQLite, on PostgreSQL.
	DoorParts = 2
	// SequenceParts divide the test that executes every short sequence of events once for each
	// waiting policy. Under the race detector, a commit runs it for a part of the policies; without
	// the detector, it is run for all policies, on memory and SQLite.
	SequenceParts = 4
	// SearchParts divide the tests that call Search, under the race detector: of contract and its
	// packages, and of proof/explore.
	SearchParts = 8
	// DrillParts divide the drills of proof/cluster under the race detector. Without it, each
	// commit drills as long as ever.
	DrillParts = 2
	// FuzzParts divide the packages with fuzz targets. The inputs that are kept with a target are
	// tried by each commit, as tests. .ci/run has this number, too.
	FuzzParts = 3
)

// Parts describes the selected parts, in one line for each group.
func Parts() []string {
	n, divided := number()
	if !divided {
		return []string{"everything is run"}
	}
	part := func(what string, parts uint64) string {
		return what + ": part " + strconv.FormatUint(n%parts+1, 10) + " of " + strconv.FormatUint(parts, 10)
	}
	full := Agents[n%uint64(len(Agents))]
	if i := n % uint64(len(Agents)); i < uint64(len(AgentsOverACP)) {
		full += " and, over ACP, " + AgentsOverACP[i]
	}
	return []string{
		"real agents: " + full + " in full, the others start, ask, park, resume and are killed",
		part("crash points on SQLite, and another quarter on PostgreSQL", CrashParts),
		part("changed contracts", MutantParts),
		part("what a lenient reader forgives", AllowanceParts),
		part("bugs of the museum", BugParts),
		part("suite of stores on PostgreSQL with every option (1, 3) or through PgBouncer (2, 4)", 2*SuiteParts),
		part("requirements and stories on PostgreSQL, all on the other stores", ServerParts),
		part("kills of those who send notices, on SQLite (1) or PostgreSQL (2)", NoticeParts),
		part("races through all doors, on SQLite (1) or PostgreSQL (2)", DoorParts),
		part("sequences of events with the race detector, on PostgreSQL above all", SequenceParts),
		part("searches of contract and proof/explore with the race detector, all without it", SearchParts),
		part("drills of proof/cluster with the race detector, all without it", DrillParts),
		part("packages with fuzz targets", FuzzParts),
		"what is left out is shown by other commits; INTERLUDE_FULL=1 runs everything",
	}
}
