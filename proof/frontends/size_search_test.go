//go:build search

package frontends_test

// How many questions are raced for, where, and how often a node is killed in the meantime.
const (
	raced     = 30
	killEvery = 50
)

var racedOn = []string{"sqlite", "postgresql"}
