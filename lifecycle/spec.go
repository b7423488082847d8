package lifecycle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
	"github.com/interlude-go/interlude/internal/schema"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// Defaults and limits of a Spec.
const (
	// DefaultEngine is the name under which Config.Engine is recorded.
	DefaultEngine           = "default"
	DefaultSessionTimeout   = 1200 * time.Second
	DefaultMaxAutoDecisions = 20
	MaxRepairRounds         = 10
	MaxPrompt               = 1 << 20 // bytes
	MaxRunID                = 128     // bytes
	MaxKey                  = 255     // bytes of Spec.Key
	MaxPriority             = 1000    // and its negative is the lowest
	MaxTitle                = 255     // bytes
	MaxLabels               = 32
	MaxLabelKey             = 63   // bytes
	MaxLabelValue           = 255  // bytes
	MaxWorkDir              = 4096 // bytes
	MaxMeta                 = 16
	MaxMetaKey              = 63   // bytes
	MaxMetaValue            = 1024 // bytes
)

// Spec is the job that a host submits. Only Prompt is required, or Input in its place.
type Spec struct {
	// ID is the caller's id for the run: 1 to MaxRunID of [A-Za-z0-9._-], beginning with a letter
	// or digit but not with "child-", the prefix of children's ids (engine.Parent). It makes Submit
	// idempotent. If empty, Submit makes an id; these ids sort by time.
	ID string `json:"-"`
	// Prompt is the agent's task; 1 byte to MaxPrompt of UTF-8, or empty with an Input.
	Prompt string `json:"prompt" plain:"own"`
	// Input is one JSON value of at most MaxPrompt bytes, with numbers that are finite as float64, for
	// an engine that takes JSON (engine.Turn.InputJSON), such as a function of engine/flow.
	Input json.RawMessage `json:"input,omitempty"`
	// Mode is Interactive when empty.
	Mode Mode `json:"mode"`
	// Engine names an engine of Config.Engines; empty means Config.Engine.
	Engine string `json:"engine,omitempty" plain:"word"`

	// OutputSchema is a JSON Schema (draft 2020-12) that the final output must pass; empty for
	// none.
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`

	// MaxAttempts is max_attempt: the turn in which an interactive run must complete. 0: not
	// declared, turns are unlimited. Questions that a turn asks together are one turn.
	MaxAttempts int `json:"max_attempts,omitempty"`
	// MaxQuestions limits the questions that an agent may ask in one turn by its text, up to
	// interaction.MaxQuestions; 0 means 1. Above 1, the agent's instructions describe a list, and the
	// run continues when each question is answered. A longer list counts as malformed: the person
	// sees the agent's text. It does not limit engine.AskAll.
	MaxQuestions int `json:"max_questions,omitempty"`
	// SessionTimeout is session_timeout_sec: how long a question waits before its deadline. Whole
	// seconds, at least 1 s; 0 means DefaultSessionTimeout. A strict run has no deadline unless its
	// engine holds a process; Ask.Wait defines the end of each question.
	SessionTimeout time.Duration `json:"session_timeout"`
	// AutoDecide lets the engine decide if no one replies in time. Otherwise the run is strict:
	// interactive_require_user_reply is true.
	AutoDecide bool `json:"auto_decide,omitempty"`
	// MaxAutoDecisions limits automatic decisions; 0 means DefaultMaxAutoDecisions. The next deadline
	// fails the run. One deadline's decisions on several questions count once.
	MaxAutoDecisions int `json:"max_auto_decisions"`
	// Repeatable: a turn interrupted by a crash, a shutdown or the end of its agent may be executed
	// again.
	Repeatable bool `json:"repeatable,omitempty"`
	// OnInterrupt is the policy for a turn that was interrupted by a shutdown, or lost with its
	// worker or its agent. Fail: the run fails. Repeat: the same as Repeatable. Ask: the run is
	// held until an operator decides whether to repeat the turn (Client.Resume). If it is empty and
	// Repeatable is false, Config.OnInterrupt applies. A turn whose engine was not called before a
	// shutdown always returns to the queue. A run of the profile sticky_process fails with its
	// process, except in its first turn, which the policy gives a new process.
	OnInterrupt OnInterrupt `json:"on_interrupt,omitempty"`
	// Hold decides whether the run is held if an operator can repair the cause: its engine is
	// unavailable, its session is refused, its workspace is missing, or its retries are used up. If
	// empty, Config.Hold applies. The turn is executed again after Client.Resume, or automatically
	// after pauses of a minute to an hour.
	Hold HoldPolicy `json:"hold,omitempty"`
	// MaxRepeats limits consecutive repeats of a repeatable turn that lost its worker or its agent,
	// after pauses of a second to a minute; 0 means DefaultMaxRepeats. The next loss fails the run with
	// TURN_REPEAT_LIMIT_EXCEEDED. After two lost nodes, or one before the last repeat, the run waits
	// for a node that executes no other turn (store.Run.Suspect). A turn that ends without a failure
	// or adds to the run's journal resets the count; a shutdown does not count.
	MaxRepeats int `json:"max_repeats,omitempty"`
	// Retry says how a turn with a transient failure is retried. Nil: Config.Retry applies, if any.
	// Max 0: no retries.
	Retry *store.Retry `json:"retry,omitempty"`
	// Budget limits the run's tokens and turns; zero fields do not. It is checked before the run is
	// queued for another turn: no turn is interrupted, and a complete run stays complete. If it is
	// used up, the run is held with its answer until an operator raises the budget or ends the run
	// (Client.Resume). A run of the profile sticky_process cannot be held; it fails with
	// BUDGET_EXHAUSTED instead of asking its next question.
	Budget store.Budget `json:"budget,omitzero"`
	// TurnTimeout limits one turn, including its repair rounds; 0: no limit by the library.
	TurnTimeout time.Duration `json:"turn_timeout,omitempty"`
	// RepairRounds limits how often, in one attempt, an agent can correct an output that fails
	// OutputSchema, before the run fails with OUTPUT_INVALID; at most MaxRepairRounds. The engine
	// must be able to continue its session (engine.Turn.Repair).
	RepairRounds int `json:"repair_rounds,omitempty"`

	// Pool is the pool in which the run executes; empty for the default pool. Key says for whom,
	// for example a tenant.
	Pool string `json:"pool" plain:"word"`
	Key  string `json:"key,omitempty"`
	// Priority orders a pool's runs, higher first; -MaxPriority to MaxPriority. A run waits while runs
	// of a higher priority occupy all slots, whatever its age: use a separate pool for work that must
	// not starve.
	Priority int `json:"priority,omitempty"`
	// NotBefore is the earliest start of the run; it stays queued until then.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Title summarises the run for people, in a list or an inbox; at most MaxTitle bytes. Agents do
	// not get it.
	Title string `json:"title,omitempty"`
	// Labels are for filtering; at most MaxLabels, keys to 63 bytes and values to 255.
	Labels map[string]string `json:"labels,omitempty"`

	// Ask sets who may answer the run's questions; nil: everybody. Submitter is the Actor.ID of its
	// submitter.
	Ask       *interaction.AskPolicy `json:"ask,omitempty"`
	Submitter string                 `json:"submitter,omitempty"`

	// WorkDir is the agent's working folder, which must exist when a turn starts. Submit makes it
	// absolute. If empty, the run has its own folder under Config.Dir.
	WorkDir string `json:"work_dir,omitempty"`

	// Meta is passed to each turn (engine.Turn.Meta) and to Observer.Turn, for example a
	// "traceparent"; at most MaxMeta entries. A repeated submission may differ in it, and keeps the
	// first. Events, whose schemas are closed, do not contain it.
	Meta map[string]string `json:"meta,omitempty"`
}

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
	if s.MaxQuestions == 1 { // one form for one meaning
		s.MaxQuestions = 0
	}
	if s.Pool == "" {
		s.Pool = DefaultPool
	}
	if s.OnInterrupt == Repeat { // likewise
		s.Repeatable, s.OnInterrupt = true, ""
	}
	s.NotBefore = s.NotBefore.UTC().Truncate(time.Microsecond)
	return s
}

// record returns the new run of a valid spec, and the encoded spec, in separate memory.
func (s Spec) record(now time.Time) (store.Run, []byte, error) {
	s = s.withDefaults()
	meta := s.Meta
	s.Meta = nil
	body, err := encodeSpec(&s)
	digest := digestOf(body)
	if s.Meta = meta; err == nil && len(meta) > 0 {
		body, err = encodeSpec(&s)
	}
	if err != nil {
		return store.Run{}, nil, &SpecError{"OutputSchema", fmt.Sprintf("%d bytes", len(s.OutputSchema)), "valid JSON",
			err}
	}
	return store.Run{
		ID: s.ID, Contract: contract.Version(), SpecDigest: digest,
		Engine: s.Engine, Mode: s.Mode, Strict: !s.AutoDecide, SessionTimeout: s.SessionTimeout,
		MaxAttempts: s.MaxAttempts, MaxAutoDecisions: s.MaxAutoDecisions, Repeatable: s.Repeatable,
		MaxRepeats: s.MaxRepeats, OnInterrupt: s.OnInterrupt, Hold: s.Hold, Budget: newBudget(s.Budget),
		Pool: s.Pool, Key: s.Key, Priority: s.Priority, NotBefore: s.NotBefore, Labels: maps.Clone(s.Labels),
		Title: s.Title, Restricted: decide.Restricts(s.Ask),
		CreatedAt: now,
		State:     fsm.StateQueued, UpdatedAt: now, QueuedAt: now, Recovery: store.RecoveryNone,
	}, body, nil
}

// digestOf returns body's SHA-256 in hexadecimal. Submissions with equal digests are the same.
func digestOf(body []byte) string {
	digest := sha256.Sum256(body)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], digest[:])
	return string(text[:])
}

// Validate returns a *SpecError if the spec is invalid. Only Submit checks that its pool and engine
// exist.
func (s Spec) Validate() error {
	if fault := s.validate(); fault != nil {
		return fault
	}
	if fault := s.validateAsk(); fault != nil {
		return fault
	}
	if key, ok := wrongLabel(s.Labels); !ok {
		return &SpecError{"Labels", quote(key), wantLabels, nil}
	}
	for k, v := range s.Meta {
		if k == "" || len(k) > MaxMetaKey || len(v) > MaxMetaValue || !utf8.ValidString(k) || !utf8.ValidString(v) {
			return &SpecError{"Meta", quote(k), "keys of 1 to 63 bytes and values of at most 1024, valid UTF-8", nil}
		}
	}
	if len(s.OutputSchema) > 0 {
		if _, err := schema.Cached(s.OutputSchema); err != nil {
			return &SpecError{"OutputSchema", bytesOf(len(s.OutputSchema)), "a JSON Schema that compiles", err}
		}
	}
	return nil
}

type fieldRule struct {
	field, want string
	broken      bool
}

// rules are the conditions of single fields in reporting order. Functions would be allocations.
func (s *Spec) rules() [18]fieldRule {
	return [...]fieldRule{
		{"Mode", `"auto" or "interactive"`, s.Mode != "" && s.Mode != Auto && s.Mode != Interactive},
		{"Engine", wantName, s.Engine != "" && !namePattern.matches(s.Engine)},
		{"MaxAttempts", "an integer of at least 1, or 0 for not declared", s.MaxAttempts < 0},
		{"MaxQuestions", wantQuestions, s.MaxQuestions < 0 || s.MaxQuestions > interaction.MaxQuestions},
		{"SessionTimeout", "whole seconds, at least 1s", s.SessionTimeout < 0 || s.SessionTimeout%time.Second != 0},
		{"MaxAutoDecisions", "an integer of at least 0", s.MaxAutoDecisions < 0},
		{"OnInterrupt", wantOnInterruptOfSpec, !knownOnInterrupt(s.OnInterrupt) || s.Repeatable &&
			s.OnInterrupt != "" && s.OnInterrupt != Repeat},
		{"Hold", wantHold, !knownHold(s.Hold)},
		{"MaxRepeats", "an integer of at least 1, or 0 for the default", s.MaxRepeats < 0},
		{"TurnTimeout", "0 or more", s.TurnTimeout < 0},
		{"RepairRounds", wantRepairRounds, s.RepairRounds < 0 || s.RepairRounds > MaxRepairRounds},
		{"Pool", wantName, s.Pool != "" && !namePattern.matches(s.Pool)},
		{"Key", wantKey, len(s.Key) > MaxKey || !utf8.ValidString(s.Key)},
		{"Priority", "-1000 to 1000", s.Priority < -MaxPriority || s.Priority > MaxPriority},
		{"NotBefore", wantYear, !inCalendar(s.NotBefore)},
		{"Labels", wantFewLabels, len(s.Labels) > MaxLabels},
		{"Meta", wantFewMeta, len(s.Meta) > MaxMeta},
		{"Title", "at most 255 bytes of UTF-8 without NUL", len(s.Title) > MaxTitle || !storableText(s.Title)},
	}
}

var (
	wantQuestions         = fmt.Sprintf("0 to %d", interaction.MaxQuestions)
	wantRepairRounds      = fmt.Sprintf("0 to %d", MaxRepairRounds)
	wantFewLabels         = fmt.Sprintf("at most %d", MaxLabels)
	wantFewMeta           = fmt.Sprintf("at most %d", MaxMeta)
	wantOnInterruptOfSpec = wantOnInterrupt + `, and nothing but "repeat" in a run that is Repeatable`
)

// validate describes the first invalid field. It must not allocate for a valid spec.
func (s *Spec) validate() *SpecError {
	if s.ID != "" && !isChosenID(s.ID) {
		return &SpecError{"ID", quote(s.ID), wantChosenID, nil}
	}
	if fault := s.validateJob(); fault != nil {
		return fault
	}
	rules := s.rules()
	for i := range rules {
		if r := &rules[i]; r.broken {
			return &SpecError{r.field, s.shown(r.field), r.want, nil}
		}
	}
	switch {
	case len(s.WorkDir) > MaxWorkDir:
		return &SpecError{"WorkDir", bytesOf(len(s.WorkDir)), "at most 4096 bytes", nil}
	case !storableText(s.WorkDir):
		return &SpecError{"WorkDir", quote(s.WorkDir), "valid UTF-8 without NUL", nil}
	}
	if fault := validateRetry(s.Retry); fault != nil {
		return fault
	}
	if fault := validateBudget(s.Budget); fault != nil {
		return fault
	}
	return nil
}

func (s *Spec) shown(field string) string {
	switch v := reflect.ValueOf(*s).FieldByName(field); v.Kind() { //nolint:exhaustive // the others print well
	case reflect.Map:
		return entriesOf(v.Len())
	case reflect.String:
		if field == "Key" { // it may be a secret of the host's
			return bytesOf(v.Len())
		}
		return quote(v.String())
	default:
		if at, ok := v.Interface().(time.Time); ok {
			return yearOf(at)
		}
		return fmt.Sprint(v.Interface())
	}
}

// storableText reports whether stores keep the text as it is.
func storableText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// inCalendar reports whether the time can be stored in RFC 3339.
func inCalendar(t time.Time) bool {
	year := t.UTC().Year()
	return 0 <= year && year <= 9999
}

func bytesOf(n int) string { return fmt.Sprintf("%d bytes", n) }

func quote(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// The code that encodes a specification is generated from the struct. It writes what encoding/json
// would: the digest of these bytes identifies the submission, so they must not change.

//go:generate go run ../internal/plainjson/gen -read Spec

func encodeSpec(s *Spec) ([]byte, error) {
	return plainjson.Exact(func(dst []byte) ([]byte, error) { return appendSpec(dst, s) })
}

// otherFields estimates the bytes of fields other than Prompt and OutputSchema.
const otherFields = 512

func appendSpec(dst []byte, s *Spec) ([]byte, error) {
	w := plainjson.Writer{Buf: slices.Grow(dst, len(s.Prompt)+len(s.Prompt)/16+len(s.OutputSchema)+otherFields)}
	writeSpec(&w, s)
	return w.Buf, w.Err
}

// knownWords are texts of most specifications; decoding them allocates nothing.
var knownWords = func() plainjson.Words {
	words := plainjson.Words{}
	plainjson.Learn(words, Interactive, Auto)
	plainjson.Learn(words, DefaultEngine, DefaultPool)
	plainjson.Learn(words, Fail, Ask)
	plainjson.Learn(words, HoldOn, HoldOff)
	return words
}()

// decodeSpec decodes a stored spec. It shares no memory with the body.
func decodeSpec(id string, body []byte) (Spec, error) {
	s, ok := scanSpec(body)
	if !ok {
		var err error
		if s, err = unmarshalSpec(body); err != nil {
			return Spec{}, fmt.Errorf("lifecycle: stored spec of run %s: %w", id, err)
		}
	}
	s.ID = id
	return s, nil
}

// scanSpec reads the form that appendSpec writes, and returns false for any other JSON.
func scanSpec(body []byte) (Spec, bool) {
	var v Spec
	s := plainjson.Scanner{Body: body, Words: knownWords}
	readSpec(&s, &v)
	return v, s.Done()
}

// unmarshalSpec is a separate function because its Spec escapes to the heap; scanSpec's does not.
func unmarshalSpec(body []byte) (Spec, error) {
	var s Spec
	err := json.Unmarshal(body, &s)
	return s, err
}
