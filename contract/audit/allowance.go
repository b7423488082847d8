package audit

import (
	"encoding/json"
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
	// Skipped are the invariants that are not decided where it is missing. They are counted, see
	// Report.Skipped.
	Skipped []string
}

// optional is a member that the contract requires and another producer may leave out. What stands
// in for it only makes the rest of the event checkable; no invariant sees it.
type optional struct {
	typ, member string
	stand       any
	skipped     []string
}

const (
	memberEngine   = "engine"
	memberMeta     = "meta"
	memberAttempt  = "meta.attempt"
	memberLocalSeq = "meta.local_seq"
	anyTime        = "2000-01-01T00:00:00Z"
)

var optionals = []optional{
	{"", memberEngine, "unknown", []string{"IV-05"}},
	{"", memberMeta, nil, []string{"IV-07", "IV-08", "IV-16", "IV-29"}}, // see fitting.envelope
	{"", memberAttempt, json.Number("0"), []string{"IV-07", "IV-08", "IV-16", "IV-29"}},
	{"", memberLocalSeq, json.Number("1"), []string{"IV-08"}},
	{contract.TypeStarted, "mode", "interactive", []string{"IV-11"}},
	{contract.TypeStarted, "interactive_require_user_reply", true, []string{"IV-12", "IV-32"}},
	{contract.TypeStarted, "session_timeout_sec", json.Number("1"), []string{"IV-36", "IV-37"}},
	{contract.TypeStarted, "max_auto_decisions", json.Number("0"), []string{"IV-14", "IV-15"}},
	{contract.TypeStarted, "pool", "unknown", nil},
	{contract.TypeStarted, "contract_version", "0.0.0", nil},
	{contract.TypeStateChanged, "terminal.status", "failed", []string{"IV-20"}},
	{contract.TypeStateChanged, "terminal.warnings", []any{}, nil},
	{contract.TypeStateChanged, "terminal.error.code", "UNKNOWN", []string{"IV-21"}},
	{contract.TypeStateChanged, "terminal.error.message", "", nil},
	{contract.TypeAutoDecided, "accepted_at", anyTime, []string{"IV-35"}},
	{contract.TypeAutoDecided, "timeout_sec", json.Number("1"), []string{"IV-36"}},
	{contract.TypeInputRequired, "kind", "open_text", nil},
	{contract.TypeInputRequired, "default_decision_policy", "engine_judgement", nil},
	{contract.TypeInputRequired, "asked_at", anyTime, []string{"IV-35", "IV-37"}},
	{contract.TypeInputRequired, "profile", "resumable", []string{"IV-13", "IV-32"}},
	{contract.TypeInputRequired, "on_deadline", "keep_waiting", []string{"IV-14", "IV-32", "IV-33"}},
}

// skippedWithout are the invariants that are not decided where a member is missing that the schemas
// do not require.
var skippedWithout = map[[2]string][]string{
	{contract.TypeStateChanged, "pending_interaction_id"}: {"IV-18"},
	{contract.TypeStateChanged, "terminal"}:               {"IV-19"},
	{contract.TypeStateChanged, "terminal.error"}:         {"IV-21"},
	{contract.TypeInputRequired, "wait_deadline_at"}:      {"IV-33", "IV-34"},
}

// demanded is what a log must have even when it is read leniently: what says whose event it is and
// where it stands, and what the protocol fixes for a change of state, a reply, a decision, a
// question, a message and a warning.
var demanded = map[string][]string{
	"":                               {"protocol_version", "run_id", "seq", "ts", "type", "data"},
	contract.TypeStateChanged:        {"from", "to", "trigger", "updated_at"},
	contract.TypeReplyAccepted:       {"interaction_id", "resolution_mode", "accepted_at"},
	contract.TypeAutoDecided:         {"interaction_id", "resolution_mode", "policy"},
	contract.TypeInputRequired:       {"interaction_id", "prompt"},
	contract.TypeMessageFinal:        {"text"},
	contract.TypeMessageIntermediate: {"text"},
	contract.TypeWarning:             {"code"},
}

// named are the members whose value may be a name that this contract does not have.
var named = map[[2]string]bool{
	{contract.TypeAutoDecided, "policy"}:               true,
	{contract.TypeStateChanged, "terminal.error.code"}: true,
	{contract.TypeWarning, "code"}:                     true,
}

// Allowances lists what Options.Lenient does not ask for, beside the event conversation.started
// itself: first what the contract requires, then what it does not require anyway and may then also
// be null.
func Allowances() []Allowance {
	var all []Allowance
	for _, o := range optionals {
		all = append(all, Allowance{o.typ, o.member, true, o.skipped})
	}
	for _, p := range contract.Load().Payloads {
		for _, member := range schemas()[p.Type].members("", false) {
			all = append(all, Allowance{p.Type, member, false, skippedWithout[[2]string{p.Type, member}]})
		}
	}
	return all
}

// Demanded lists, by event type, the members that a log must have when it is read leniently, the
// envelope's under "". The list is the caller's.
func Demanded() map[string][]string {
	out := map[string][]string{}
	for typ, members := range demanded {
		out[typ] = slices.Clone(members)
	}
	return out
}

// path splits a member's path.
func (o optional) path() []string { return strings.Split(o.member, ".") }
