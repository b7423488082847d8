//go:build search

package agentstest

import (
	"slices"

	"github.com/interlude-go/interlude/internal/sample"
)

// Tried returns the named agents that the tests drive: the agents selected by package sample and,
// if its program is named, byHand.
func Tried(names ...string) []string {
	return only(names, func(name string) bool {
		if name == byHand {
			_, ok := find(name)
			return ok
		}
		return sample.Has(slices.Index(sample.Agents, name), sample.AgentParts)
	})
}
