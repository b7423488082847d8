package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
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
	DefaultMaxRepeats       = 3
	MaxRepairRounds         = 10
	MaxPrompt               = 1 << 20 // bytes
	MaxLabels               = 32
)

// Spec is the job that a host submits. Only Prompt is required.
type Spec struct {
	// ID is the caller's own id for the run, 1 to 128 of [A-Za-z0-9._-] beginning with a letter or
	// digit. Submitting the same id and spec again returns the run; another spec is a conflict.
	// Empty: one is made, sortable by time.
	ID string `json:"-"`
	// Prompt is what the agent is to do; 1 byte to MaxPrompt of UTF-8.
	Prompt string `json:"prompt"`
	// Mode is Interactive when empty.
	Mode Mode `json:"mode"`
	// Engine names one of Config.Engines; empty stands for Config.Engine.
	Engine string `json:"engine,omitempty"`

	// OutputSchema is a JSON Schema (draft 2020-12) that the final output must pass; empty declares
	// none.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// MaxAttempts is max_attempt: the turn in which an interactive run must complete. 0: not
	// declared, rounds are unlimited (B7, B9).
	MaxAttempts int `json:"max_attempts,omitempty"`
	// SessionTimeout is session_timeout_sec: how long a question waits before its deadline. Whole
	// seconds, at least 1 s; 0 stands for DefaultSessionTimeout.
	SessionTimeout time.Duration `json:"session_timeout"`
	// AutoDecide lets the engine decide when nobody replies in time. Its zero value is strict:
	// interactive_require_user_reply is true (section D).
	AutoDecide bool `json:"auto_decide,omitempty"`
	// MaxAutoDecisions bounds automatic decisions (I12); 0 stands for DefaultMaxAutoDecisions. The
	// run fails at the deadline after the last one.
	MaxAutoDecisions int `json:"max_auto_decisions"`
	// Repeatable says that a turn that was interrupted by a crash or a shutdown may be executed
	// again (E4), and also one whose agent was killed while the host lives.
	Repeatable bool `json:"repeatable,omitempty"`
	// MaxRepeats is how often in a row a repeatable turn that lost its worker or its agent is
	// executed again, each time after a longer pause, of a second at first and a minute at most
	// (J3); 0 stands for DefaultMaxRepeats. The next loss fails the run with
	// TURN_REPEAT_LIMIT_EXCEEDED. A turn that ends well starts the count again; an orderly shutdown
	// of the host does not count.
	MaxRepeats int `json:"max_repeats,omitempty"`
	// TurnTimeout limits one turn, its repair rounds included; 0: no limit of the library's own.
	TurnTimeout time.Duration `json:"turn_timeout,omitempty"`
	// RepairRounds is how often, in one attempt, an agent whose output fails OutputSchema is told
	// why and gives it again before the run fails with OUTPUT_INVALID (B3, B5); at most
	// MaxRepairRounds, 0 is off. The engine must be able to go on with its session, and to tell
	// such a round from a first turn (engine.Turn.Repair).
	RepairRounds int `json:"repair_rounds,omitempty"`

	// Pool and Key say in which pool the run executes, and for whom (a tenant, say). Empty Pool:
	// the default pool.
	Pool string `json:"pool"`
	Key  string `json:"key,omitempty"`
	// Priority orders runs of one pool, higher first; -1000 to 1000. It is strict: a run does not
	// age, and waits for as long as runs of a higher priority keep the pool's slots taken. Work
	// that must go on beside more urgent work wants a pool of its own. Stats shows for each pool
	// since when its oldest ready run has waited.
	Priority int `json:"priority,omitempty"`
	// NotBefore keeps the run in the queue until then.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Labels are for filtering; at most MaxLabels, keys to 63 bytes and values to 255.
	Labels map[string]string `json:"labels,omitempty"`

	// WorkDir is the agent's working folder; it must exist when a turn starts. A relative one is
	// made absolute by Submit. Empty: a folder of the run's own under Config.Dir.
	WorkDir string `json:"work_dir,omitempty"`
}

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
	return s
}

// record turns a valid spec into the run that is submitted, and its encoding. They share nothing
// that the caller may change.
func (s Spec) record(now time.Time) (store.Run, []byte, error) {
	s = s.withDefaults()
	body, err := encodeSpec(&s)
	if err != nil {
		return store.Run{}, nil, &SpecError{"OutputSchema", fmt.Sprintf("%d bytes", len(s.OutputSchema)), "valid JSON",
			err}
	}
	return store.Run{
		ID: s.ID, Contract: contract.Version(), SpecDigest: digestOf(body),
		Engine: s.Engine, Mode: s.Mode, Strict: !s.AutoDecide, SessionTimeout: s.SessionTimeout,
		MaxAttempts: s.MaxAttempts, MaxAutoDecisions: s.MaxAutoDecisions, Repeatable: s.Repeatable,
		MaxRepeats: s.MaxRepeats,
		Pool:       s.Pool, Key: s.Key, Priority: s.Priority, NotBefore: s.NotBefore, Labels: maps.Clone(s.Labels),
		CreatedAt: now,
		State:     fsm.StateQueued, UpdatedAt: now, QueuedAt: now, Recovery: store.RecoveryNone,
	}, body, nil
}

// digestOf is SHA-256 in hexadecimal. It decides whether a submission is the same one again.
func digestOf(body []byte) string {
	digest := sha256.Sum256(body)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], digest[:])
	return string(text[:])
}
