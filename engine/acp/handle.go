package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// Limits that keep a handle below engine.MaxSessionHandle.
const (
	maxSession  = 4 << 10 // bytes of a session's id
	maxOptions  = 20      // of a question
	maxOptionID = 512     // bytes
	maxLabel    = 200     // bytes of an option's name, and of a title
	maxGrants   = 32
	maxAsked    = 32 << 10 // bytes of the permissions that are asked for together, as JSON
)

type state struct {
	Session string `json:"session"`
	// Asked is the permission that the last turn requested, Others the permissions requested
	// together with it.
	Asked  *permissionQuestion  `json:"asked,omitempty"`
	Others []permissionQuestion `json:"others,omitempty"`
	// Grants are people's decisions, oldest first. Each is applied when the agent requests the same
	// subject again.
	Grants []grant `json:"grants,omitempty"`
}

type permissionQuestion struct {
	Digest  string   `json:"digest,omitempty"` // of the subject; empty if nothing distinguishes it
	Title   string   `json:"title"`
	Options []choice `json:"options"`
	// Document has the complete subject if the question shows only a part.
	Document *approval.Document `json:"whole,omitempty"`
	// Seen is the asked question's digest; missing in sessions of earlier versions.
	Seen string `json:"seen,omitempty"`
	// SettledBy is the interaction whose answer was applied: a turn repeated after a crash does not
	// grant twice.
	SettledBy int `json:"settled_by,omitempty"`
}

func (s *state) setAsked(asked []permissionQuestion) {
	s.Asked, s.Others = nil, nil
	if len(asked) > 0 {
		s.Asked, s.Others = &asked[0], asked[1:]
	}
}

// askedFor returns the permission that the answer is about, or nil. It is found by its Ref, never
// by its place. An answer without one is about the only requested permission.
func (s *state) askedFor(a engine.Answer) *permissionQuestion {
	if s.Asked == nil || a.Ref == "" && len(s.Others) == 0 || a.Ref == s.Asked.Digest {
		return s.Asked
	}
	for i := range s.Others {
		if s.Others[i].Digest == a.Ref {
			return &s.Others[i]
		}
	}
	return nil
}

type choice struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Value is shown to people instead of the id; empty if they are equal.
	Value string `json:"value,omitempty"`
}

func (c choice) value() string {
	if c.Value != "" {
		return c.Value
	}
	return c.ID
}

type grant struct {
	Digest string `json:"digest"`
	Choice choice `json:"choice"`
}

func validateSession(session string) error {
	if session == "" || len(session) > maxSession || strings.ContainsFunc(session, unicode.IsControl) {
		return fmt.Errorf("the session id %q is refused: want 1 to %d bytes without control characters",
			process.Clip(session, 40), maxSession)
	}
	return nil
}

// handle is the session handle with the state. Surplus decisions are dropped, oldest first.
func (t *turn) handle() *engine.SessionHandle {
	if t.state.Session == "" {
		return nil
	}
	version := t.cfg.Version
	if version == "" {
		version = process.Clip(t.agent.announced.Info.Version, 100)
	}
	t.state.Grants = t.state.Grants[max(0, len(t.state.Grants)-maxGrants):]
	body, _ := json.Marshal(t.state) // texts can be encoded
	for len(body) > engine.MaxSessionHandle && len(t.state.Grants) > 0 {
		t.state.Grants = t.state.Grants[1:]
		body, _ = json.Marshal(t.state)
	}
	return &engine.SessionHandle{Engine: t.cfg.Name, Version: version, Data: body}
}

// store stores the state. It is called before acting on the state.
func (t *turn) store() error { return t.sink.Session(t.ctx, *t.handle()) }

func (c Config) stateOf(h engine.SessionHandle) (s state, _ error) {
	if h.Engine != c.Name {
		return s, fmt.Errorf("the handle is of engine %q, this is %q", process.Clip(h.Engine, 40), c.Name)
	}
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return s, fmt.Errorf("the handle cannot be read: %w", err)
	}
	return s, validateSession(s.Session)
}

func (t *turn) loadState() error {
	var err error
	switch {
	case t.in.Session != nil:
		t.state, err = t.cfg.stateOf(*t.in.Session)
	case t.in.GoesOn() && !t.sticky:
		err = errors.New("there is no session to give the answer to")
	}
	if err != nil && t.sticky { // the process knows its session; without the handle, only grants are lost
		t.state, err = state{}, nil
	}
	if err != nil {
		return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: err.Error()}
	}
	return nil
}
