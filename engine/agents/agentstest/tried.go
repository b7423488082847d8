//go:build !search

package agentstest

// Tried returns the named agents that the tests drive: only Codex, so that a landing depends on one
// external program. With the build tag search, which .ci/search sets, they drive every agent.
func Tried(names ...string) []string {
	return only(names, func(name string) bool { return name == "codex" })
}
