package audit

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// Allowance is a member that may be missing, or null, in a log that is read leniently.
type Allowance struct {
	// Type is the event type, or empty for the envelope.
	Type string
	// Member is the path of the member from the data or the envelope.
	Member string
	// Required: the contract requires the member, so a strict reader rejects a log without it.
	Required bool
	// Skipped are the invariants that cannot be decided without the member; Report.Skipped counts
	// them.
	Skipped []string
}

// optional is a required member that another producer may leave out. Its placeholder makes the rest
// of the event checkable; no invariant sees it.
type optional struct {
	typ, member string
	placeholder any
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
	{fcmp.TypeStarted, "mode", "interactive", []string{"IV-11"}},
	{fcmp.TypeStarted, "interactive_require_user_reply", true, []string{"IV-12", "IV-32"}},
	{fcmp.TypeStarted, "session_timeout_sec", json.Number("1"), []string{"IV-36", "IV-37"}},
	{fcmp.TypeStarted, "max_auto_decisions", json.Number("0"), []string{"IV-14", "IV-15"}},
	{fcmp.TypeStarted, "pool", "unknown", nil},
	{fcmp.TypeStarted, "contract_version", "0.0.0", nil},
	{fcmp.TypeStarted, "forked_from.run_id", "unknown", nil},
	{fcmp.TypeInputRequired, "subject.tool", "unknown", []string{"IV-50"}},
	{fcmp.TypeStateChanged, "terminal.status", "failed", []string{"IV-20"}},
	{fcmp.TypeStateChanged, "terminal.warnings", []any{}, nil},
	{fcmp.TypeStateChanged, "terminal.error.code", "UNKNOWN", []string{"IV-21"}},
	{fcmp.TypeStateChanged, "terminal.error.message", "", nil},
	{fcmp.TypeAutoDecided, "accepted_at", anyTime, []string{"IV-35"}},
	{fcmp.TypeAutoDecided, "timeout_sec", json.Number("1"), []string{"IV-36"}},
	{fcmp.TypeInputRequired, "kind", "open_text", []string{"IV-46", "IV-49"}},
	{fcmp.TypeInputRequired, "default_decision_policy", "engine_judgement", nil},
	{fcmp.TypeInputRequired, "asked_at", anyTime, []string{"IV-35", "IV-36", "IV-37"}},
	{fcmp.TypeInputRequired, "profile", "resumable", []string{"IV-13", "IV-32"}},
	{fcmp.TypeInputRequired, "on_deadline", "keep_waiting", []string{"IV-14", "IV-32", "IV-33", "IV-45"}},
	{fcmp.TypeClosed, "closed_at", anyTime, []string{"IV-35"}},
	{fcmp.TypeDefaultTaken, "timeout_sec", json.Number("1"), nil},
}

// skippedWithout has members that the schemas do not require, with the invariants that need them.
var skippedWithout = map[[2]string][]string{
	{fcmp.TypeStateChanged, "pending_interaction_id"}:   {"IV-18"},
	{fcmp.TypeStateChanged, "terminal"}:                 {"IV-19"},
	{fcmp.TypeStateChanged, "terminal.error"}:           {"IV-21"},
	{fcmp.TypeInputRequired, "wait_deadline_at"}:        {"IV-33", "IV-34", "IV-36", "IV-45"},
	{fcmp.TypeYielded, "choices"}:                       {"IV-39", "IV-40"},
	{fcmp.TypeBlocked, "choices"}:                       {"IV-40"},
	{fcmp.TypeReplyAccepted, "decision"}:                {"IV-41", "IV-46", "IV-50"},
	{fcmp.TypeReplyAccepted, "actor"}:                   {"IV-46", "IV-47", "IV-49", "IV-50"},
	{fcmp.TypeRecorded, "decision"}:                     {"IV-46", "IV-50"},
	{fcmp.TypeRecorded, "actor"}:                        {"IV-46", "IV-47", "IV-49", "IV-50"},
	{fcmp.TypeInputRequired, "subject"}:                 {"IV-50"},
	{fcmp.TypeChanged, "actor"}:                         {"IV-47", "IV-49"},
	{fcmp.TypeInputRequired, "together.stop_on_reject"}: {"IV-41"},
	{fcmp.TypeInputRequired, "together"}:                {"IV-41", "IV-42", "IV-43"},
}

// demanded has the members that even a lenient reader requires: an event's identity and its place
// in the run, and what the protocol prescribes for changes of state, replies, decisions, questions
// and their siblings, messages, warnings, retries, holds, and steps of a question's wait.
var demanded = map[string][]string{
	"":                     {"protocol_version", "run_id", "seq", "ts", "type", "data"},
	fcmp.TypeStateChanged:  {"from", "to", "trigger", "updated_at"},
	fcmp.TypeReplyAccepted: {"interaction_id", "resolution_mode", "accepted_at", "remember.until"},
	fcmp.TypeAutoDecided:   {"interaction_id", "resolution_mode", "policy"},
	fcmp.TypeInputRequired: {"interaction_id", "prompt", "together.questions", "together.answers",
		"wait.steps"},
	fcmp.TypeRecorded:            {"interaction_id", "resolution_mode", "accepted_at", "remember.until"},
	fcmp.TypeForgotten:           {"interaction_id"},
	fcmp.TypeNoted:               {"interaction_id", "note", "text"},
	fcmp.TypeClosed:              {"interaction_id", "resolution_mode"},
	fcmp.TypeReminder:            {"interaction_id", "step", "due_at"},
	fcmp.TypeEscalated:           {"interaction_id", "step", "due_at"},
	fcmp.TypeDefaultTaken:        {"interaction_id", "resolution_mode", "accepted_at"},
	fcmp.TypeChanged:             {"interaction_id", "change"},
	fcmp.TypeMessageFinal:        {"text"},
	fcmp.TypeMessageIntermediate: {"text"},
	fcmp.TypeWarning:             {"code"},
	fcmp.TypeYielded:             {"message"},
	fcmp.TypeBlocked:             {"code", "message"},
	fcmp.TypeUnblocked:           {"cause"},
}

// essential are optional members that another producer may not leave out of an event that has the
// value. Without a question's own wait, what follows would contradict the run's policy; without the
// number of deciders, votes would settle nothing; without its new value, a change would say
// nothing; without asks_again, a fork's first turn would count as an attempt; without policy_until,
// no policy could decide; without for, a deputy would seem to ignore a claim; without remember, a
// decision could not approve later calls.
var essential = map[[2]string]bool{
	{fcmp.TypeStarted, "asks_again"}: true,
	{fcmp.TypeInputRequired, "wait"}: true, {fcmp.TypeInputRequired, "need"}: true,
	{fcmp.TypeInputRequired, "rejects"}: true, {fcmp.TypeChanged, "wait_deadline_at"}: true,
	{fcmp.TypeChanged, "claimed_until"}: true, {fcmp.TypeChanged, "to"}: true,
	{fcmp.TypeInputRequired, "policy_until"}: true, {fcmp.TypeChanged, "need"}: true,
	{fcmp.TypeReplyAccepted, "for"}: true, {fcmp.TypeRecorded, "for"}: true, {fcmp.TypeChanged, "for"}: true,
	{fcmp.TypeReplyAccepted, "remember"}: true, {fcmp.TypeRecorded, "remember"}: true,
}

// named are the members whose value may be a name that is not in this contract.
var named = map[[2]string]bool{
	{fcmp.TypeAutoDecided, "policy"}:               true,
	{fcmp.TypeStateChanged, "terminal.error.code"}: true,
	{fcmp.TypeWarning, "code"}:                     true,
}

// Allowances lists the members that may be missing with Options.Lenient, those that the contract
// requires first. The others may be missing in any log, but only a lenient reader accepts null for
// them. The event conversation.started may be missing too.
func Allowances() []Allowance {
	var all []Allowance
	for _, o := range optionals {
		all = append(all, Allowance{o.typ, o.member, true, o.skipped})
	}
	for _, p := range contract.Load().Payloads {
		for _, member := range schemas()[p.Type].members("", false) {
			if essential[[2]string{p.Type, member}] {
				continue
			}
			all = append(all, Allowance{p.Type, member, false, skippedWithout[[2]string{p.Type, member}]})
		}
	}
	return all
}

// Demanded lists, by event type ("" for the envelope), the members that even a lenient reader
// requires. The caller owns the map.
func Demanded() map[string][]string {
	out := map[string][]string{}
	for typ, members := range demanded {
		out[typ] = slices.Clone(members)
	}
	return out
}

func (o optional) path() []string { return strings.Split(o.member, ".") }
