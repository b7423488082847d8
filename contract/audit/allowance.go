package audit

import (
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
)

// Allowance is one member that may be missing, or null, in a log that is read leniently.
type Allowance struct {
	// Type is the event type, empty for the envelope.
	Type string
	// Member is its path from the data, or from the envelope.
	Member string
	// Required says that the contract asks for it, so that a log which is read strictly has it.
	Required bool
	// Instead says what is taken in its place, empty where nothing is.
	Instead string
}

// substitute is what stands in for a member that the contract requires, but that no invariant needs. What an invariant does need
// is in none of them: without it there would be nothing to check. needed in allowance_test.go says so member by member.
type substitute struct {
	typ, member string
	value       any // timeOfEvent, or what is taken
}

// timeOfEvent stands for the envelope's ts.
type timeOfEvent struct{}

const (
	memberEngine   = "engine"
	memberLocalSeq = "meta.local_seq"
	unknownEngine  = "unknown"
)

// The two of the envelope depend on what came before, see completer.
var envelopeSubstitutes = []Allowance{
	{Member: memberEngine, Required: true, Instead: "the engine that the run had before, or " + unknownEngine},
	{Member: memberLocalSeq, Required: true, Instead: "the event is counted within its attempt"},
}

var substitutes = []substitute{
	{contract.TypeStarted, "session_timeout_sec", 1},
	{contract.TypeStarted, "pool", "default"},
	{contract.TypeStarted, "contract_version", contract.Version()},
	{contract.TypeStateChanged, "updated_at", timeOfEvent{}},
	{contract.TypeStateChanged, "terminal.warnings", []any{}},
	{contract.TypeStateChanged, "terminal.error.message", ""},
	{contract.TypeReplyAccepted, "resolution_mode", "user_reply"},
	{contract.TypeReplyAccepted, "accepted_at", timeOfEvent{}},
	{contract.TypeAutoDecided, "resolution_mode", "auto_decide_timeout"},
	{contract.TypeAutoDecided, "policy", "engine_judgement"},
	{contract.TypeAutoDecided, "accepted_at", timeOfEvent{}},
	{contract.TypeAutoDecided, "timeout_sec", 1},
	{contract.TypeInputRequired, "kind", "open_text"},
	{contract.TypeInputRequired, "default_decision_policy", "engine_judgement"},
	{contract.TypeInputRequired, "asked_at", timeOfEvent{}},
}

// Allowances lists what Options.Lenient forgives beside members that the contract does not know: what the contract requires and is
// made up for, first, then what it does not require anyway and may then also be null.
func Allowances() []Allowance {
	all := slices.Clone(envelopeSubstitutes)
	for _, s := range substitutes {
		all = append(all, Allowance{Type: s.typ, Member: s.member, Required: true, Instead: s.String()})
	}
	for _, p := range contract.Load().Payloads {
		for _, member := range schemas()[p.Type].members("", false) {
			all = append(all, Allowance{Type: p.Type, Member: member})
		}
	}
	return all
}

func (s substitute) String() string {
	switch v := s.value.(type) {
	case timeOfEvent:
		return "the event's ts"
	case string:
		if v != "" {
			return v
		}
		return "an empty text"
	case []any:
		return "none"
	}
	return "1"
}

// path splits a member's path.
func (s substitute) path() []string { return strings.Split(s.member, ".") }
