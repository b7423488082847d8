package crash

import (
	"slices"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/proof/cast"
)

// Entry is a line of a Journal: a round that an agent was given, a receipt that a person was
// given, or a change that a person was told is made.
type Entry struct {
	Run string `json:"run"`

	Attempt int    `json:"attempt,omitempty"`
	Input   string `json:"input,omitempty"` // "prompt" in a first turn

	Source uint64 `json:"source,omitempty"` // the version of the source before a run was forked from it

	Hand string `json:"hand,omitempty"` // what a person changed about the first question
	By   string `json:"by,omitempty"`

	// Fed is an event that the reader of a feed was given, and Acked the last one of which it was
	// told that it is acknowledged.
	Fed   uint64 `json:"fed,omitempty"`
	Acked uint64 `json:"acked,omitempty"`

	Key     string               `json:"key,omitempty"`
	Receipt *interaction.Receipt `json:"receipt,omitempty"`
	Refused string               `json:"refused,omitempty"`
}

// Journal records what really happened outside of the store. Each entry is in the file before the
// agent or the person goes on.
type Journal = cast.Journal[Entry]

// entriesOf returns the entries of a run in order.
func entriesOf(j *Journal, run string) []Entry {
	return slices.DeleteFunc(j.All(), func(e Entry) bool { return e.Run != run })
}
