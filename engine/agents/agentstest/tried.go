//go:build !search

package agentstest

// Tried returns those of the named agents that the tests drive: Codex, so that a landing depends on
// one foreign program only. With the build tag search, which .ci/search sets, they drive every
// agent.
func Tried(names ...string) []string {
	return only(names, func(name string) bool { return name == "codex" })
}
