package lifecycle

import (
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// emitter writes the events of one transition.
type emitter struct {
	from  fsm.State
	event fsm.Event
	ev    *evidence
}

// emit adds the events of one type; an optional or repeated one may have none.
func (e *emitter) emit(c *store.Commit, kind string) error {
	switch kind {
	case fcmp.TypeStarted:
		return addEvent(c, started(&c.Run))
	case fcmp.TypeStateChanged:
		return addEvent(c, e.stateChanged(&c.Run))
	case fcmp.TypeReplyAccepted:
		return addEvent(c, replyAccepted(e.ev.answer))
	case fcmp.TypeAutoDecided:
		return addEvent(c, autoDecided(e.ev.answer, &c.Run))
	case fcmp.TypeInputRequired:
		return addEvent(c, inputRequired(&c.Run))
	case fcmp.TypeMessageFinal:
		if f := e.ev.final; f != nil {
			return addEvent(c, &fcmp.MessageFinal{Text: f.text, Truncated: f.truncated, RawRef: (*fcmp.RawRef)(f.ref)})
		}
		return nil
	case fcmp.TypeWarning:
		for _, d := range e.ev.warnings {
			if err := addEvent(c, warning(d)); err != nil {
				return err
			}
		}
		return nil
	}
	panic("lifecycle: the contract emits " + kind + ", which nobody here can write")
}

func started(r *store.Run) *fcmp.Started {
	return &fcmp.Started{
		Mode: string(r.Mode), InteractiveRequireUserReply: r.Strict, SessionTimeoutSec: seconds(r.SessionTimeout),
		MaxAttempt: max(r.MaxAttempts, 0), MaxAutoDecisions: r.MaxAutoDecisions, Pool: r.Pool,
		ContractVersion: r.Contract,
	}
}

func (e *emitter) stateChanged(r *store.Run) *fcmp.StateChanged {
	change := &fcmp.StateChanged{
		From: string(e.from), To: string(r.State), Trigger: string(e.event), UpdatedAt: r.UpdatedAt,
	}
	if r.Pending != nil {
		change.PendingInteractionID = r.Pending.ID
	}
	if r.State.Terminal() {
		change.Terminal = &fcmp.Terminal{Status: string(r.State), Warnings: make([]string, len(r.Warnings))}
		for i, code := range r.Warnings {
			change.Terminal.Warnings[i] = string(code)
		}
		if r.Error != nil {
			change.Terminal.Error = &fcmp.Failure{Code: string(r.Error.Code), Message: r.Error.Message}
		}
	}
	return change
}

func replyAccepted(a *interaction.Answer) *fcmp.ReplyAccepted {
	return &fcmp.ReplyAccepted{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), AcceptedAt: a.AcceptedAt, Actor: a.Actor,
	}
}

func autoDecided(a *interaction.Answer, r *store.Run) *fcmp.AutoDecided {
	return &fcmp.AutoDecided{
		InteractionID: a.ID, ResolutionMode: string(a.Resolution), Policy: string(a.Auto.Policy),
		AcceptedAt: a.AcceptedAt, TimeoutSec: seconds(r.SessionTimeout),
	}
}

func inputRequired(r *store.Run) *fcmp.InputRequired {
	q := r.Pending
	rule, _ := fsm.Wait(r.Profile, r.Strict)
	asked := &fcmp.InputRequired{
		InteractionID: q.ID, Kind: string(q.Kind), Prompt: q.Prompt, RequiredFields: q.RequiredFields,
		UIHints: q.UIHints, Context: q.Context, DefaultDecisionPolicy: string(q.DefaultPolicy), AskedAt: q.AskedAt,
		Profile: string(r.Profile), OnDeadline: string(rule.OnDeadline), WaitDeadlineAt: r.Deadline,
	}
	for _, o := range q.Options {
		asked.Options = append(asked.Options, fcmp.Option{Label: o.Label, Value: o.Value})
	}
	return asked
}

func intermediate(text string, truncated bool, ref *engine.RawRef) *fcmp.MessageIntermediate {
	return &fcmp.MessageIntermediate{Text: text, Truncated: truncated, RawRef: (*fcmp.RawRef)(ref)}
}

func warning(d interaction.Diagnostic) *fcmp.Warning {
	detail, _ := bounded(d.Detail, maxDetail)
	return &fcmp.Warning{Code: string(d.Code), Detail: detail}
}

func seconds(d time.Duration) int { return int(d / time.Second) }
