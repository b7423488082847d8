//go:build !search

package frontends_test

// How many questions are raced for, where, and how often a node is killed in the meantime: never,
// because a landing must not depend on luck. .ci/search kills.
const (
	raced     = 12
	killEvery = 0
)

var racedOn = []string{"sqlite"}
