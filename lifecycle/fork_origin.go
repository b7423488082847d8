package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// This file defines what a fork inherits from its source, and its stored form.

// maxOrigin is how many bytes of JSON a fork inherits at most. Most of them are history and
// journal.
const maxOrigin = 16 << 20

// origin is what a fork inherits from its source. It is stored together with the fork's
// specification, and never changes.
type origin struct {
	// RunID and CreatedAt identify the run that owns the session. WorkDir is the WorkDir of its
	// Spec; if it is empty, that run works in its own folder.
	RunID     string    `json:"run_id"`
	CreatedAt time.Time `json:"created_at"`
	WorkDir   string    `json:"work_dir,omitempty"`
	// Session is the session that the first turn branches; nil if there is none.
	Session *SessionHandle `json:"session,omitempty"`
	AtRest  bool           `json:"at_rest,omitempty"` // see engine.BranchPoint
	Message bool           `json:"message,omitempty"` // see engine.BranchPoint
	History []Record       `json:"history,omitempty"`
	// Journal has the entries that the source had inherited itself, and after them its own up to
	// the fork's point. The fork's own journal follows them.
	Journal []engine.JournalEntry `json:"journal,omitempty"`
	// Answer is what the first turn of the fork gets.
	Answer *Answer `json:"answer,omitempty"`
	// Answers replace Answer if several questions were asked together.
	Answers []Answer `json:"answers,omitempty"`
	// Asks are the questions that the first turn of the fork asks again, with their rule. There is
	// no answer then.
	Asks []Question       `json:"asks,omitempty"`
	Rule interaction.Rule `json:"rule,omitzero"`
	// Withheld are the indexes of the records of History whose answers the fork does not inherit.
	Withheld []int `json:"withheld,omitempty"`

	// The fields below are used only while the fork is made. The point is that of the fork in the
	// source's life.
	ownEntries int       // how many entries the source's own journal had at the point
	answered   int       // how many records at the end of History have the answers that the fork begins with
	pointTime  time.Time // the time of the point
}

// decodeSubmitted decodes the stored form of a specification. For a fork, this is a JSON list of
// the origin and the specification.
func decodeSubmitted(id string, body []byte) (spec Spec, from *origin, err error) {
	if bytes.HasPrefix(body, []byte("[")) {
		var parts []json.RawMessage
		if err = json.Unmarshal(body, &parts); err == nil && len(parts) == 2 {
			from = new(origin)
			err, body = json.Unmarshal(parts[0], from), parts[1]
		}
		if err != nil {
			return Spec{}, nil, fmt.Errorf("lifecycle: stored spec of fork %s: %w", id, err)
		}
	}
	spec, err = decodeSpec(id, body)
	return spec, from, err
}

// point describes for the engine the session that it branches, without the folders.
func (o *origin) point() engine.BranchPoint {
	return engine.BranchPoint{RunID: o.RunID, Session: *o.Session.Clone(), AtRest: o.AtRest, Message: o.Message}
}
