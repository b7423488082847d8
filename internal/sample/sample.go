// Package sample lets CI divide proofs that differ little between commits: each commit shows a part
// of them, another one by chance, so that some commits together show all. What is left out says so,
// and what was chosen is printed when CI begins. Whoever runs tests by hand, and CI with
// INTERLUDE_FULL=1, has all of them.
//
// Neighbours: .ci/run derives the number from the commit; its proofs are those of docs/proof.md.
package sample

import (
	"os"
	"strconv"
	"testing"
)

// Env is the variable with the number that chooses. Without it everything is chosen.
const Env = "INTERLUDE_SAMPLE"

// number returns the number that chooses, and false when everything is chosen.
func number() (uint64, bool) {
	n, err := strconv.ParseUint(os.Getenv(Env), 10, 64)
	return n, err == nil
}

// Has reports whether part i is chosen where commits divide the work into the given number of parts.
// Numbers beyond that begin again with the first part, so that i can be the number of a case.
func Has(i, parts int) bool {
	n, divided := number()
	return !divided || n%uint64(parts) == uint64(i%parts)
}

// Require skips the test unless part i is chosen.
func Require(tb testing.TB, i, parts int) {
	tb.Helper()
	if !Has(i, parts) {
		tb.Skipf("not run: other commits show it (part %d of %d; %s is %s). Without the variable it is run",
			i%parts+1, parts, Env, os.Getenv(Env))
	}
}

// Agents are the real agents. One is shown in full, with the suite and each story; the others start,
// ask, park, resume and are killed.
var Agents = []string{"codex", "gemini", "opencode", "qwen"}

// These are the parts into which the other proofs are divided.
const (
	// CrashParts divide the cases of proof/crash on SQLite and PostgreSQL. In memory each case is
	// played.
	CrashParts = 3
	// MutantParts divide the changed contracts that contract's laws and proof/explore must notice.
	MutantParts = 3
	// BugParts divide the bugs of proof/museum.
	BugParts = 3
	// SuiteParts divide the ways to PostgreSQL, beside the plain one, on which the suite of stores
	// is run: every option of the driver and the server, or PgBouncer.
	SuiteParts = 2
	// SequenceParts divide the policies under which every short sequence of events is lived with the
	// race detector. Without it, each is lived in memory and on SQLite.
	SequenceParts = 2
)

// Parts describes the division, a line for each, with the numbers of the parts that are chosen.
func Parts() []string {
	n, divided := number()
	if !divided {
		return []string{"everything is run"}
	}
	part := func(what string, parts uint64) string {
		return what + ": part " + strconv.FormatUint(n%parts+1, 10) + " of " + strconv.FormatUint(parts, 10)
	}
	return []string{
		"real agents: " + Agents[n%uint64(len(Agents))] +
			" in full, the others start, ask, park, resume and are killed",
		part("crash points on SQLite, and another third on PostgreSQL", CrashParts),
		part("changed contracts", MutantParts),
		part("bugs of the museum", BugParts),
		part("suite of stores on PostgreSQL with every option (1) or through PgBouncer (2)", SuiteParts),
		part("sequences of events with the race detector, on PostgreSQL above all", SequenceParts),
		"what is left out is shown by other commits; INTERLUDE_FULL=1 runs everything",
	}
}
