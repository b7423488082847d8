// Package sample divides the long searches of .ci/search between runs. The number in an environment
// variable selects a part of each group of similar cases, so that several runs together search
// everything. Without the variable, every case is run. .ci/run and ./test.sh never set it.
//
// Neighbours: .ci/search sets the number; docs/internals/proof.md lists the searches.
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

// Sequential skips a long test of a single goroutine under the race detector, which cannot find
// anything there and takes ten times as long. ./test.sh runs the packages of these tests without
// the detector as well.
func Sequential(tb testing.TB) {
	tb.Helper()
	if Race {
		tb.Skip("this test has a single goroutine: ./test.sh runs it without the race detector")
	}
}

// Agents are the real agents that .ci/search drives.
var Agents = []string{"codex", "gemini", "opencode", "qwen"}

// These are the parts into which .ci/search divides its longest searches.
const (
	// AgentParts divide the real agents.
	AgentParts = 4
	// CrashParts divide the cases of proof/crash on SQLite and PostgreSQL.
	CrashParts = 4
	// BugParts divide the bugs of proof/museum.
	BugParts = 4
)

// Parts describes the selected parts, in one line for each group.
func Parts() []string {
	n, divided := number()
	if !divided {
		return []string{"every case"}
	}
	part := func(what string, parts uint64) string {
		return what + ": part " + strconv.FormatUint(n%parts+1, 10) + " of " + strconv.FormatUint(parts, 10)
	}
	return []string{
		"real agents: " + Agents[n%AgentParts],
		part("crash points on SQLite, and another part on PostgreSQL", CrashParts),
		part("bugs of the museum", BugParts),
	}
}
