package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// Mode says whether a run may ask a person.
type Mode = fsm.Mode

// The modes of a run.
const (
	// Interactive runs may end a turn with a question.
	Interactive = fsm.ModeInteractive
	// Auto runs decide everything by themselves and never wait (A6).
	Auto = fsm.ModeAuto
)

// Defaults and limits of a Spec.
const (
	// DefaultEngine is the name under which Config.Engine is recorded.
	DefaultEngine           = "default"
	DefaultSessionTimeout   = 1200 * time.Second
	DefaultMaxAutoDecisions = 20
	MaxPrompt               = 1 << 20 // bytes
	MaxLabels               = 32
)

// Spec is the job that a host submits. Only Prompt is required.
type Spec struct {
	// ID is the caller's own id for the run, 1 to 128 of [A-Za-z0-9._-] beginning with a letter or digit. Submitting the same
	// id and spec again returns the run; another spec is a conflict. Empty: one is made, sortable by time.
	ID string `json:"-"`
	// Prompt is what the agent is to do; 1 byte to MaxPrompt of UTF-8.
	Prompt string `json:"prompt"`
	// Mode is Interactive when empty.
	Mode Mode `json:"mode"`
	// Engine names one of Config.Engines; empty stands for Config.Engine.
	Engine string `json:"engine,omitempty"`

	// OutputSchema is a JSON Schema (draft 2020-12) that the final output must pass; empty declares none.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// MaxAttempts is max_attempt: the turn in which an interactive run must complete. 0: not declared, rounds
	// are unlimited (B7, B9).
	MaxAttempts int `json:"max_attempts,omitempty"`
	// SessionTimeout is session_timeout_sec: how long a question waits before its deadline. Whole seconds, at
	// least 1 s; 0 stands for DefaultSessionTimeout.
	SessionTimeout time.Duration `json:"session_timeout"`
	// AutoDecide lets the engine decide when nobody replies in time. Its zero value is strict:
	// interactive_require_user_reply is true (section D).
	AutoDecide bool `json:"auto_decide,omitempty"`
	// MaxAutoDecisions bounds automatic decisions (I.12); 0 stands for DefaultMaxAutoDecisions. The run
	// fails at the deadline after the last one.
	MaxAutoDecisions int `json:"max_auto_decisions"`
	// Repeatable says that a turn that was interrupted by a crash or a shutdown may be executed again (E4).
	Repeatable bool `json:"repeatable,omitempty"`
	// TurnTimeout limits one turn; 0: no limit of the library's own.
	TurnTimeout time.Duration `json:"turn_timeout,omitempty"`

	// Pool and Key say in which pool the run executes, and for whom (a tenant, say). Empty Pool: the default pool.
	Pool string `json:"pool"`
	Key  string `json:"key,omitempty"`
	// Priority orders runs of one pool, higher first; -1000 to 1000.
	Priority int `json:"priority,omitempty"`
	// NotBefore keeps the run in the queue until then.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Labels are for filtering; at most MaxLabels, keys to 63 bytes and values to 255.
	Labels map[string]string `json:"labels,omitempty"`

	// WorkDir is the agent's working folder; it must exist when a turn starts. Empty: a folder of the run's own under Config.Dir.
	WorkDir string `json:"work_dir,omitempty"`
}

var (
	idPattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`)
)

// withDefaults fills in what the zero values stand for.
func (s Spec) withDefaults() Spec {
	if s.Mode == "" {
		s.Mode = Interactive
	}
	if s.Engine == "" {
		s.Engine = DefaultEngine
	}
	if s.SessionTimeout == 0 {
		s.SessionTimeout = DefaultSessionTimeout
	}
	if s.MaxAutoDecisions == 0 {
		s.MaxAutoDecisions = DefaultMaxAutoDecisions
	}
	if s.Pool == "" {
		s.Pool = slots.DefaultPool
	}
	s.NotBefore = s.NotBefore.UTC().Truncate(time.Microsecond)
	s.Labels = maps.Clone(s.Labels)
	s.OutputSchema = slices.Clone(s.OutputSchema)
	return s
}

// Validate says what is wrong with the spec as a *SpecError; nil when it can be submitted. Whether its pool
// and engine exist is known at submission only.
func (s Spec) Validate() error {
	d := s.withDefaults()
	if s.ID != "" && !idPattern.MatchString(s.ID) {
		return &SpecError{"ID", quote(s.ID), "1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit", nil}
	}
	checks := []struct {
		ok          bool
		field       string
		value, want string
	}{
		{s.Prompt != "" && len(s.Prompt) <= MaxPrompt, "Prompt", fmt.Sprintf("%d bytes", len(s.Prompt)), fmt.Sprintf("1 to %d bytes", MaxPrompt)},
		{utf8.ValidString(s.Prompt), "Prompt", "not UTF-8", "valid UTF-8"},
		{d.Mode == Auto || d.Mode == Interactive, "Mode", quote(string(s.Mode)), `"auto" or "interactive"`},
		{s.Engine == "" || namePattern.MatchString(s.Engine), "Engine", quote(s.Engine), "1 to 63 of [A-Za-z0-9._/-]"},
		{s.MaxAttempts >= 0, "MaxAttempts", fmt.Sprint(s.MaxAttempts), "an integer of at least 1, or 0 for not declared"},
		{d.SessionTimeout >= time.Second && d.SessionTimeout%time.Second == 0, "SessionTimeout", s.SessionTimeout.String(), "whole seconds, at least 1s"},
		{s.MaxAutoDecisions >= 0, "MaxAutoDecisions", fmt.Sprint(s.MaxAutoDecisions), "an integer of at least 0"},
		{s.TurnTimeout >= 0, "TurnTimeout", s.TurnTimeout.String(), "0 or more"},
		{namePattern.MatchString(d.Pool), "Pool", quote(s.Pool), "1 to 63 of [A-Za-z0-9._/-]"},
		{len(s.Key) <= 255 && utf8.ValidString(s.Key), "Key", fmt.Sprintf("%d bytes", len(s.Key)), "at most 255 bytes of UTF-8"},
		{s.Priority >= -1000 && s.Priority <= 1000, "Priority", fmt.Sprint(s.Priority), "-1000 to 1000"},
		{len(s.Labels) <= MaxLabels, "Labels", fmt.Sprintf("%d entries", len(s.Labels)), fmt.Sprintf("at most %d", MaxLabels)},
		{len(s.WorkDir) <= 4096, "WorkDir", fmt.Sprintf("%d bytes", len(s.WorkDir)), "at most 4096 bytes"},
	}
	for _, c := range checks {
		if !c.ok {
			return &SpecError{c.field, c.value, c.want, nil}
		}
	}
	for k, v := range s.Labels {
		if k == "" || len(k) > 63 || len(v) > 255 || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return &SpecError{"Labels", quote(k), "keys of 1 to 63 bytes and values of at most 255, valid UTF-8", nil}
		}
	}
	if len(s.OutputSchema) > 0 {
		if _, err := schema.Compile(s.OutputSchema); err != nil {
			return &SpecError{"OutputSchema", fmt.Sprintf("%d bytes", len(s.OutputSchema)), "a JSON Schema that compiles", err}
		}
	}
	return nil
}

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// record turns a valid spec into the run that is submitted, and its encoding.
func (s Spec) record(now time.Time) (store.Run, []byte, error) {
	s = s.withDefaults()
	body, err := json.Marshal(s)
	if err != nil {
		return store.Run{}, nil, &SpecError{"OutputSchema", fmt.Sprintf("%d bytes", len(s.OutputSchema)), "valid JSON", err}
	}
	digest := sha256.Sum256(body)
	return store.Run{
		ID: s.ID, Contract: contract.Version(), SpecDigest: hex.EncodeToString(digest[:]),
		Engine: s.Engine, Mode: s.Mode, Strict: !s.AutoDecide, SessionTimeout: s.SessionTimeout,
		MaxAttempts: s.MaxAttempts, MaxAutoDecisions: s.MaxAutoDecisions, Repeatable: s.Repeatable,
		Pool: s.Pool, Key: s.Key, Priority: s.Priority, NotBefore: s.NotBefore, Labels: s.Labels, CreatedAt: now,
		State: fsm.StateQueued, UpdatedAt: now, QueuedAt: now, Recovery: store.RecoveryNone,
	}, body, nil
}

// readSpec decodes a stored spec.
func readSpec(id string, body []byte) (Spec, error) {
	var s Spec
	if err := json.Unmarshal(body, &s); err != nil {
		return Spec{}, fmt.Errorf("lifecycle: stored spec of run %s: %w", id, err)
	}
	s.ID = id
	return s, nil
}
