package crash

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/cast"
)

// Entry is a line of a Journal: an agent's round, a person's receipt, or an acknowledged change.
type Entry struct {
	Run string `json:"run"`

	Attempt int    `json:"attempt,omitempty"`
	Input   string `json:"input,omitempty"` // "prompt" in a first turn

	Source uint64 `json:"source,omitempty"` // the version of the source before a run was forked from it

	Hand string `json:"hand,omitempty"` // a person's change of the first question
	By   string `json:"by,omitempty"`

	// Fed is an event given to a feed's reader, and Acked the last event acknowledged to it.
	Fed   uint64 `json:"fed,omitempty"`
	Acked uint64 `json:"acked,omitempty"`

	Key     string               `json:"key,omitempty"`
	Receipt *interaction.Receipt `json:"receipt,omitempty"`
	Refused string               `json:"refused,omitempty"`
}

// Journal records the real events outside the store. Each entry is in the file before the agent or
// the person continues.
type Journal = cast.Journal[Entry]

// entriesOf returns the entries of a run in order.
func entriesOf(j *Journal, run string) []Entry {
	return slices.DeleteFunc(j.All(), func(e Entry) bool { return e.Run != run })
}
