package contract

import (
	"encoding/json"
	"strings"
)

// Lifecycle is lifecycle.json as Go values. Every list is in the file's order: the gate decides in
// this order, and of several invariants that an event breaks the first is named first.
type Lifecycle struct {
	Version     string       `json:"version"`
	Protocol    string       `json:"protocol"`
	Doc         string       `json:"doc"`
	Modes       []Name       `json:"modes"`
	Profiles    []Name       `json:"profiles"`
	States      []State      `json:"states"`
	Events      []Name       `json:"events"`
	Facts       []Name       `json:"facts"`
	Submission  Submission   `json:"submission"`
	Transitions []Transition `json:"transitions"`
	Rejections  []Rejection  `json:"rejections"`
	Gate        []GateRule   `json:"gate"`
	Waiting     []WaitRule   `json:"waiting"`
	Errors      []Code       `json:"errors"`
	Warnings    []Code       `json:"warnings"`
	OwnWarnings OwnWarnings  `json:"own_warnings"`
	Payloads    []Payload    `json:"payloads"`
	Extensions  []Extension  `json:"extensions"`
	Invariants  []Invariant  `json:"invariants"`
}

// Name is a mode, a profile, an event or a fact.
type Name struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// State is one state of a run.
type State struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Terminal     bool     `json:"terminal"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// Guard holds if all of All hold and none of None. The zero Guard always holds.
type Guard struct {
	All  []string `json:"all,omitempty"`
	None []string `json:"none,omitempty"`
}

// Emission is one event type that a transition emits; Count is one, optional, many (any number)
// or some (at least one).
type Emission struct {
	Type  string `json:"type"`
	Count string `json:"count"`
}

// CountNote describes Count for people, as a suffix. It is empty for exactly one.
func (e Emission) CountNote() string {
	return map[string]string{"optional": " (or none)", "many": " (any number)", "some": " (at least one)"}[e.Count]
}

// Submission is the start of a run.
type Submission struct {
	ID           string     `json:"id"`
	To           string     `json:"to"`
	Slot         string     `json:"slot"`
	Emits        []Emission `json:"emits"`
	Doc          string     `json:"doc"`
	Requirements []string   `json:"requirements"`
}

// Transition is one arrow. Slot is acquire, keep or release. Error is the code of a run that it
// ends; Also lists alternative codes for the caller.
type Transition struct {
	ID    string `json:"id"`
	From  string `json:"from"`
	Event string `json:"event"`
	To    string `json:"to"`
	Guard
	Slot         string     `json:"slot"`
	Error        string     `json:"error,omitempty"`
	Also         []string   `json:"also,omitempty"`
	Emits        []Emission `json:"emits"`
	Doc          string     `json:"doc"`
	Requirements []string   `json:"requirements"`
}

// Rejection refuses each of its events in each of its states with one code.
type Rejection struct {
	ID           string   `json:"id"`
	States       []string `json:"states"`
	Events       []string `json:"events"`
	Error        string   `json:"error"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// GateRule is a rule of the completion gate; the first that holds decides.
type GateRule struct {
	ID string `json:"id"`
	Guard
	Outcome      string   `json:"outcome"`
	Error        string   `json:"error,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// WaitRule is one row of the waiting policy. OnDeadline is keep_waiting, auto_decide or fail.
type WaitRule struct {
	ID           string   `json:"id"`
	Profile      string   `json:"profile"`
	Strict       bool     `json:"strict"`
	Slot         string   `json:"slot"`
	OnDeadline   string   `json:"on_deadline"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// Code is an error or warning code. Source, only of errors, names its user: engine, gate, run or
// refusal.
type Code struct {
	ID           string   `json:"id"`
	Code         string   `json:"code"`
	Source       string   `json:"source,omitempty"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// OwnWarnings is the namespace of engines' warning codes: Prefix, then at least one of A to Z, 0 to
// 9 and _, in total at most Longest bytes.
type OwnWarnings struct {
	ID           string   `json:"id"`
	Prefix       string   `json:"prefix"`
	Longest      int      `json:"longest"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// Holds reports whether the code is in the namespace.
func (o OwnWarnings) Holds(code string) bool {
	rest, ok := strings.CutPrefix(code, o.Prefix)
	return ok && rest != "" && len(code) <= o.Longest && strings.Trim(rest,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// Payload names the schema of an event type's data.
type Payload struct {
	ID           string   `json:"id"`
	Type         string   `json:"type"`
	Schema       string   `json:"schema"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// Extension lists the additions of a later protocol version: event types, events as triggers of a
// change of state, and members of existing events, each as type (MetaMember for the envelope's meta),
// dot and member.
type Extension struct {
	ID           string   `json:"id"`
	Protocol     string   `json:"protocol"`
	Types        []string `json:"types"`
	Triggers     []string `json:"triggers"`
	Members      []string `json:"members"`
	Doc          string   `json:"doc"`
	Requirements []string `json:"requirements"`
}

// SplitMember splits an entry of Extension.Members.
func SplitMember(entry string) (typ, member string) {
	i := max(strings.LastIndexByte(entry, '.'), 0)
	return entry[:i], strings.TrimPrefix(entry[i:], ".")
}

// Invariant is a promise that a Checker decides on a recorded log. Kind says what Params may hold.
type Invariant struct {
	ID           string          `json:"id"`
	Kind         string          `json:"kind"`
	Params       json.RawMessage `json:"params,omitempty"`
	Doc          string          `json:"doc"`
	Requirements []string        `json:"requirements"`
}
