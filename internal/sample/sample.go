// Package sample divides the long searches of .ci/search between runs. The number in Env selects a
// part of each group of similar cases, so that several runs together search everything. .ci/search
// sets it; without it, every case is run.
package sample

import (
	"os"
	"strconv"
	"testing"
)

// Env is the environment variable whose number selects the parts. If it is not set, every part is
// selected.
const Env = "INTERLUDE_SAMPLE"

func number() (uint64, bool) {
	n, err := strconv.ParseUint(os.Getenv(Env), 10, 64)
	return n, err == nil
}

// Has reports whether part i, taken modulo parts, is selected.
func Has(i, parts int) bool {
	n, divided := number()
	return !divided || n%uint64(parts) == uint64(i%parts)
}

// Sequential skips a long test under the race detector if the test has a single goroutine, or if
// other tests check its concurrent accesses. There the detector finds nothing and takes ten times
// as long. ./test.sh also runs these packages without the detector, and .ci/search with it.
func Sequential(tb testing.TB) {
	tb.Helper()
	if Raced(2) > 1 {
		tb.Skip("./test.sh runs this test without the race detector")
	}
}

// Agents are the real agents that .ci/search drives.
var Agents = []string{"codex", "gemini", "opencode", "qwen"}

// The numbers of parts into which .ci/search divides its longest searches.
const (
	AgentParts = 4
	CrashParts = 4
	BugParts   = 4
)

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
