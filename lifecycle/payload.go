package lifecycle

import (
	"sync"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// telling is one event to be told: its type and data.
type telling struct {
	kind string
	data map[string]any
}

// teller knows what a transition has to tell.
type teller struct {
	from  fsm.State
	event fsm.Event
	ev    *evidence
}

// payloads are maps for the data of one event after the other: encoding keeps none.
var payloads = sync.Pool{New: func() any { return make(map[string]any, 12) }}

// tell adds the events of one emission; an optional or repeated one may have none.
func (t *teller) tell(c *store.Commit, kind string) error {
	data := payloads.Get().(map[string]any) //nolint:forcetypeassert // there is nothing else in it
	defer func() {
		clear(data)
		payloads.Put(data)
	}()
	switch kind {
	case fcmp.TypeStarted:
		started(data, &c.Run)
	case fcmp.TypeStateChanged:
		t.stateChanged(data, &c.Run)
	case fcmp.TypeReplyAccepted:
		replyAccepted(data, t.ev.answer)
	case fcmp.TypeAutoDecided:
		autoDecided(data, t.ev.answer, &c.Run)
	case fcmp.TypeInputRequired:
		inputRequired(data, &c.Run)
	case fcmp.TypeMessageFinal:
		if t.ev.final == nil {
			return nil
		}
		message(data, t.ev.final.text, t.ev.final.truncated, t.ev.final.ref)
	case fcmp.TypeWarning:
		for _, w := range t.ev.warnings {
			clear(data)
			warning(data, w)
			if err := tell(c, kind, data); err != nil {
				return err
			}
		}
		return nil
	default:
		panic("lifecycle: the contract emits " + kind + ", which nobody here can tell")
	}
	return tell(c, kind, data)
}

func started(data map[string]any, r *store.Run) {
	data["mode"], data["interactive_require_user_reply"] = string(r.Mode), r.Strict
	data["session_timeout_sec"], data["max_auto_decisions"] = int(r.SessionTimeout/time.Second), r.MaxAutoDecisions
	data["pool"], data["contract_version"] = r.Pool, r.Contract
	if r.MaxAttempts > 0 {
		data["max_attempt"] = r.MaxAttempts
	}
}

func (t *teller) stateChanged(data map[string]any, r *store.Run) {
	data["from"], data["to"], data["trigger"] = string(t.from), string(r.State), string(t.event)
	data["updated_at"] = timeText(r.UpdatedAt)
	if r.Pending != nil {
		data["pending_interaction_id"] = r.Pending.ID
	}
	if r.State.Terminal() {
		end := map[string]any{"status": string(r.State), "warnings": warningTexts(r.Warnings)}
		if r.Error != nil {
			end["error"] = map[string]any{"code": string(r.Error.Code), "message": r.Error.Message}
		}
		data["terminal"] = end
	}
}

func replyAccepted(data map[string]any, a *interaction.Answer) {
	data["interaction_id"], data["resolution_mode"], data["accepted_at"] = a.ID, string(a.Resolution),
		timeText(a.AcceptedAt)
	if a.Actor != "" {
		data["actor"] = a.Actor
	}
}

func autoDecided(data map[string]any, a *interaction.Answer, r *store.Run) {
	data["interaction_id"], data["resolution_mode"], data["accepted_at"] = a.ID, string(a.Resolution),
		timeText(a.AcceptedAt)
	data["policy"], data["timeout_sec"] = string(a.Auto.Policy), int(r.SessionTimeout/time.Second)
}

func inputRequired(data map[string]any, r *store.Run) {
	q := r.Pending
	rule, _ := fsm.Wait(r.Profile, r.Strict)
	data["interaction_id"], data["kind"], data["prompt"], data["asked_at"] = q.ID, string(q.Kind), q.Prompt,
		timeText(q.AskedAt)
	data["default_decision_policy"], data["profile"], data["on_deadline"] = string(q.DefaultPolicy), string(r.Profile),
		string(rule.OnDeadline)
	if len(q.Options) > 0 {
		options := make([]any, len(q.Options))
		for i, o := range q.Options {
			options[i] = map[string]any{"label": o.Label, "value": o.Value}
		}
		data["options"] = options
	}
	if len(q.RequiredFields) > 0 {
		fields := make([]any, len(q.RequiredFields))
		for i, f := range q.RequiredFields {
			fields[i] = f
		}
		data["required_fields"] = fields
	}
	if len(q.UIHints) > 0 {
		data["ui_hints"] = q.UIHints
	}
	if q.Context != "" {
		data["context"] = q.Context
	}
	if !r.Deadline.IsZero() {
		data["wait_deadline_at"] = timeText(r.Deadline)
	}
}

func message(data map[string]any, text string, truncated bool, ref *engine.RawRef) {
	data["text"] = text
	if truncated {
		data["truncated"] = true
	}
	if ref != nil {
		data["raw_ref"] = map[string]any{"file": ref.File, "offset": ref.Offset, "length": ref.Length}
	}
}

func warning(data map[string]any, d interaction.Diagnostic) {
	data["code"] = string(d.Code)
	if d.Detail != "" {
		data["detail"], _ = bounded(d.Detail, maxDetail)
	}
}

func warningTexts(codes []fsm.Warning) []any {
	texts := make([]any, len(codes))
	for i, c := range codes {
		texts[i] = string(c)
	}
	return texts
}

// timeText is RFC 3339 in UTC, as far as microseconds where there are any.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
