package lifecycle

import (
	"time"

	"github.com/interlude-go/interlude/contract"
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
	ch    *change
}

// tell adds the events of one emission; an optional or repeated one may have none.
func (t *teller) tell(c *store.Commit, kind string) error {
	run := &c.Run
	switch kind {
	case contract.TypeStarted:
		return tell(c, kind, started(run))
	case contract.TypeStateChanged:
		return tell(c, kind, t.stateChanged(run))
	case contract.TypeReplyAccepted:
		return tell(c, kind, replyAccepted(t.ch.answer))
	case contract.TypeAutoDecided:
		return tell(c, kind, autoDecided(t.ch.answer, run))
	case contract.TypeInputRequired:
		return tell(c, kind, inputRequired(run))
	case contract.TypeMessageFinal:
		if t.ch.final == nil {
			return nil
		}
		return tell(c, kind, message(t.ch.final.text, t.ch.final.truncated, t.ch.final.ref))
	case contract.TypeWarning:
		for _, w := range t.ch.warnings {
			if err := tell(c, kind, warning(w).data); err != nil {
				return err
			}
		}
		return nil
	}
	panic("lifecycle: the contract emits " + kind + ", which nobody here can tell")
}

func started(r *store.Run) map[string]any {
	data := map[string]any{
		"mode": string(r.Mode), "interactive_require_user_reply": r.Strict,
		"session_timeout_sec": int(r.SessionTimeout / time.Second), "max_auto_decisions": r.MaxAutoDecisions,
		"pool": r.Pool, "contract_version": r.Contract,
	}
	if r.MaxAttempts > 0 {
		data["max_attempt"] = r.MaxAttempts
	}
	return data
}

func (t *teller) stateChanged(r *store.Run) map[string]any {
	data := map[string]any{
		"from": string(t.from), "to": string(r.State), "trigger": string(t.event), "updated_at": timeText(r.UpdatedAt),
	}
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
	return data
}

func replyAccepted(a *interaction.Answer) map[string]any {
	data := map[string]any{
		"interaction_id": a.ID, "resolution_mode": string(a.Resolution), "accepted_at": timeText(a.AcceptedAt),
	}
	if a.Actor != "" {
		data["actor"] = a.Actor
	}
	return data
}

func autoDecided(a *interaction.Answer, r *store.Run) map[string]any {
	return map[string]any{
		"interaction_id": a.ID, "resolution_mode": string(a.Resolution), "policy": string(a.Auto.Policy),
		"accepted_at": timeText(a.AcceptedAt), "timeout_sec": int(r.SessionTimeout / time.Second),
	}
}

func inputRequired(r *store.Run) map[string]any {
	q := r.Pending
	rule, _ := fsm.Wait(r.Profile, r.Strict)
	data := map[string]any{
		"interaction_id": q.ID, "kind": string(q.Kind), "prompt": q.Prompt, "asked_at": timeText(q.AskedAt),
		"default_decision_policy": string(q.DefaultPolicy), "profile": string(r.Profile), "on_deadline": string(rule.OnDeadline),
	}
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
	return data
}

func message(text string, truncated bool, ref *engine.RawRef) map[string]any {
	data := map[string]any{"text": text}
	if truncated {
		data["truncated"] = true
	}
	if ref != nil {
		data["raw_ref"] = map[string]any{"file": ref.File, "offset": ref.Offset, "length": ref.Length}
	}
	return data
}

func warning(d engine.Diagnostic) telling {
	data := map[string]any{"code": string(d.Code)}
	if d.Detail != "" {
		data["detail"], _ = bounded(d.Detail, maxDetail)
	}
	return telling{contract.TypeWarning, data}
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
