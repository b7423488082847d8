package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// AGUI serves AG-UI 1.0 at any path: POST, with a stream of events.
func (s *Server) AGUI() http.Handler {
	return s.handler(viaAGUI, func(ctx context.Context, q *request) {
		if q.http.Method != http.MethodPost {
			q.w.Header().Set("Allow", "POST")
			q.refuse(http.StatusMethodNotAllowed, "want POST")
			return
		}
		q.postAGUI(ctx)
	})
}

// aguiInput is RunAgentInput. Its state is the last one sent.
type aguiInput struct {
	ThreadID string          `json:"threadId"`
	RunID    string          `json:"runId"`
	Messages []aguiMessage   `json:"messages"`
	State    json.RawMessage `json:"state"`
	Resume   []struct {
		InterruptID string          `json:"interruptId"`
		Status      string          `json:"status"`
		Payload     json.RawMessage `json:"payload"`
	} `json:"resume"`
}

type aguiMessage struct {
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID string `json:"id"`
	} `json:"toolCalls"`
}

// text returns the text of a person's message, which is a string or a list of parts.
func (m *aguiMessage) text() string {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return text
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // other contents have no text
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (q *request) postAGUI(ctx context.Context) {
	body, ok := q.body()
	if !ok {
		return
	}
	var in aguiInput
	if reqbody.Unmarshal(body, &in) != nil || !validID(in.ThreadID) || !validID(in.RunID) {
		q.refuse(http.StatusBadRequest, "want a RunAgentInput with threadId and runId")
		return
	}
	if len(in.Resume) > MaxAnswers {
		q.refuse(http.StatusBadRequest, "too many answers")
		return
	}
	s := q.stream(ctx, nil)
	defer s.close()
	out := &aguiWriter{sse: s, thread: in.ThreadID, id: in.RunID, has: make(map[string]bool)}
	for i := range in.Messages {
		out.has[in.Messages[i].ID] = true
		for _, c := range in.Messages[i].ToolCalls {
			out.has[c.ID] = true
		}
	}
	run, err := q.apply(s.ctx, &in, body)
	if err != nil {
		out.fault(q.fault(s.ctx, err))
		return
	}
	v, err := q.Load(s.ctx, run)
	if err != nil {
		out.fault(q.fault(s.ctx, err))
		return
	}
	var at place
	var cursor uint64
	if json.Unmarshal(in.State, &at) == nil && at.Run == run {
		cursor = min(at.LastEvent, v.Run.Seq)
	}
	f := follower{request: q, out: out, run: run, shown: make(map[int]bool)}
	if at.Run != run && len(in.Messages) == 0 {
		if out.messages, err = q.snapshot(s.ctx, in.ThreadID, &v, &f, out); err != nil {
			out.fault(q.fault(s.ctx, err))
			return
		}
		cursor = v.Run.Seq
	}
	out.last, f.cursor = cursor, cursor
	f.follow(s.ctx)
}

// apply resumes interrupts, otherwise it applies the person's message. It returns the run.
func (q *request) apply(ctx context.Context, in *aguiInput, body json.RawMessage) (run string, _ error) {
	if len(in.Resume) > 0 {
		return q.resume(ctx, in)
	}
	if n := len(in.Messages); n > 0 && in.Messages[n-1].Role == "user" {
		m := &in.Messages[n-1]
		text := m.text()
		if !validID(m.ID) || text == "" {
			return "", front.Fault{Code: "INVALID_ARGUMENT", Text: "The message has no id or no text."}
		}
		run, _, err := q.say(ctx, message{in.ThreadID, m.ID, text}, body)
		return run, err
	}
	v, err := q.current(ctx, in.ThreadID)
	return v.Run.ID, err
}

// resume answers interrupts. A canceled one stays open. All must belong to one run of the thread.
func (q *request) resume(ctx context.Context, in *aguiInput) (run string, _ error) {
	var answers []given
	for _, r := range in.Resume {
		c, ok := parseCall(r.InterruptID)
		if !ok || run != "" && c.run != run {
			return "", lifecycle.ErrNotFound
		}
		run = c.run
		switch r.Status {
		case "resolved":
			answers = append(answers, given{c, r.InterruptID, r.Payload})
		case "cancelled":
		default:
			return "", front.Fault{Code: "INVALID_ARGUMENT", Text: "The status must be resolved or cancelled."}
		}
	}
	if _, err := q.ofChat(ctx, in.ThreadID, run); err != nil {
		return "", err
	}
	for i := range answers {
		if err := q.answer(ctx, &answers[i]); err != nil {
			return "", err
		}
	}
	return run, nil
}

// aguiWriter encodes a run as events. One request is one run of AG-UI.
type aguiWriter struct {
	*sse

	thread, id string
	run        string
	has        map[string]bool // the client's messages and calls
	last       uint64          // the last event
	messages   []object        // of a snapshot; nil: none
}

func (a *aguiWriter) event(kind string, members object) {
	all := object{"type": kind}
	maps.Copy(all, members)
	a.send(encode(all))
}

func (a *aguiWriter) open(v *front.View) {
	a.run = v.Run.ID
	a.event("RUN_STARTED", object{"threadId": a.thread, "runId": a.id})
	if a.messages != nil {
		a.event("MESSAGES_SNAPSHOT", object{"messages": a.messages})
	}
}

func (a *aguiWriter) state(v *front.View) {
	a.event("STATE_SNAPSHOT", object{"snapshot": object{"run": v.Run.ID, "state": string(v.Run.State),
		"status": v.Status(), "last_event": a.last}})
}

func textID(run string, e *lifecycle.Event) string { return fmt.Sprintf("%s-%d", run, e.Seq) }

func (a *aguiWriter) text(e *lifecycle.Event, text string) {
	a.last = e.Seq
	id := textID(a.run, e)
	if a.has[id] || text == "" {
		return
	}
	a.has[id] = true
	a.event("TEXT_MESSAGE_START", object{"messageId": id, "role": "assistant"})
	a.event("TEXT_MESSAGE_CONTENT", object{"messageId": id, "delta": text})
	a.event("TEXT_MESSAGE_END", object{"messageId": id})
}

// internal are events that the protocol expresses in another way.
var internal = []string{lifecycle.TypeStarted, lifecycle.TypeStateChanged, lifecycle.TypeInputRequired}

func (a *aguiWriter) other(e *lifecycle.Event) {
	a.last = e.Seq
	if slices.Contains(internal, e.Type) {
		return
	}
	a.event("CUSTOM", object{"name": mark + "." + e.Type, "value": e.Data})
}

// show writes the call that an approval is about.
func (a *aguiWriter) show(q *lifecycle.Question) (id string) {
	id = callID(a.run, q)
	if q.Subject == nil || a.has[id] {
		return id
	}
	a.has[id] = true
	a.event("TOOL_CALL_START", object{"toolCallId": id, "toolCallName": q.Subject.Tool})
	a.event("TOOL_CALL_ARGS", object{"toolCallId": id, "delta": argumentsOf(q.Subject)})
	a.event("TOOL_CALL_END", object{"toolCallId": id})
	return id
}

func argumentsOf(s *lifecycle.Subject) string {
	if len(s.Arguments) == 0 {
		return "{}"
	}
	return string(s.Arguments)
}

// resultOf returns the content of the message with a call's outcome.
func resultOf(r *lifecycle.Record) string {
	content := object{"outcome": outcome(r)}
	maps.Copy(content, decidedBy(r))
	return encode(content)
}

func (a *aguiWriter) settled(r *lifecycle.Record) {
	if r.Question.Subject == nil {
		return
	}
	id := a.show(&r.Question)
	result := id + ".result"
	if a.has[result] {
		return
	}
	a.has[result] = true
	a.event("TOOL_CALL_RESULT", object{"messageId": result, "toolCallId": id, "role": "tool", "content": resultOf(r)})
}

func (a *aguiWriter) voted(*lifecycle.Record) {}

func (a *aguiWriter) finish(v *front.View) {
	var interrupts []object
	for i := range v.Asks {
		interrupts = append(interrupts, a.interrupt(v, &v.Asks[i]))
	}
	a.state(v)
	end := object{"threadId": a.thread, "runId": a.id}
	switch {
	case v.Run.State == lifecycle.StateSucceeded:
		end["outcome"] = object{"type": "success"}
		if len(v.Run.Output) > 0 && string(v.Run.Output) != "null" {
			end["result"] = v.Run.Output
		} else if v.Run.FinalText != "" {
			end["result"] = v.Run.FinalText
		}
	case v.Run.State == lifecycle.StateCanceled:
		end["outcome"] = object{"type": "cancelled"}
	case v.Ended():
		a.failed(&v.Run)
		return
	default:
		if len(interrupts) == 0 {
			interrupts = others(v)
		}
		end["outcome"] = object{"type": "interrupt", "interrupts": interrupts}
	}
	a.event("RUN_FINISHED", end)
}

// interrupt writes the events before an interrupt, and returns it.
func (a *aguiWriter) interrupt(v *front.View, q *lifecycle.Question) object {
	id := a.show(q)
	i := object{"id": id, "reason": "input_required", "message": v.Message(q), "metadata": object{mark: object{
		"run": a.run, "question": q.ID, "kind": string(q.Kind)}}}
	if q.Subject != nil {
		i["reason"], i["toolCallId"] = "tool_call", id
	}
	if schema := responseSchema(q); strings.HasPrefix(string(schema), "{") {
		i["responseSchema"] = schema
	}
	// A client refuses to answer an expired interrupt, so a question that stays open has no end.
	if then, end := v.Run.EndOf(q); !end.IsZero() && then != lifecycle.ThenWait {
		i["expiresAt"] = end.UTC().Format(time.RFC3339)
	}
	return i
}

// others returns interrupts that the person cannot answer, only cancel: the next request reads the
// run again.
func others(v *front.View) (all []object) {
	for i := range v.Others {
		all = append(all, object{"id": callID(v.Run.ID, &v.Others[i]), "reason": mark + ":others",
			"message": v.Status()})
	}
	if all == nil {
		all = append(all, object{"id": callID(v.Run.ID, &lifecycle.Question{}), "reason": mark + ":waits",
			"message": v.Status()})
	}
	return all
}

func (a *aguiWriter) failed(r *lifecycle.Run) {
	text, code := "The run failed.", ""
	if r.Error != nil {
		code = string(r.Error.Code)
		text = "The run failed with " + code + ". " + interaction.VisibleProse(r.Error.Message)
	}
	a.event("RUN_ERROR", object{"message": text, "code": code})
}

func (a *aguiWriter) fault(f front.Fault) {
	a.event("RUN_ERROR", object{"message": f.Text, "code": f.Code})
}
