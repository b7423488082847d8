package lifecycle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
)

// This file has what a fork inherits from its source, and how it is stored.

// maxOrigin bounds what a fork inherits, in bytes: its history and its journal above all.
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
	// Journal is what the journal of the source had. It precedes the fork's own.
	Journal []engine.JournalEntry `json:"journal,omitempty"`
	journal int                   // how many entries of the source's own are still to be read into Journal
	asked   time.Time             // when the source wrote the last of them, or later
	Answer  *Answer               `json:"answer,omitempty"` // what the first turn gets
	// Answers are what it gets instead of Answer: those to several questions that were asked together.
	Answers []Answer `json:"answers,omitempty"`
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

// point describes the session that is branched, without its folders.
func (o *origin) point() engine.BranchPoint {
	return engine.BranchPoint{RunID: o.RunID, Session: *o.Session.Clone(), AtRest: o.AtRest, Message: o.Message}
}
