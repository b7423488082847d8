package ui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// AskTool is the name of the client tool that asks every question except approvals.
const AskTool = "ask_user"

// Chat serves useChat of the AI SDK (ai 7) at any path: POST, and GET below …/{id}/stream, which
// resumes the stream of a chat.
func (s *Server) Chat() http.Handler {
	return s.handler(viaAISDK, func(ctx context.Context, q *request) {
		switch q.http.Method {
		case http.MethodPost:
			q.postChat(ctx)
		case http.MethodGet:
			q.resumeChat(ctx)
		default:
			q.w.Header().Set("Allow", "GET, POST")
			q.refuse(http.StatusMethodNotAllowed, "want GET or POST")
		}
	})
}

type chatInput struct {
	ID        string        `json:"id"`
	Messages  []chatMessage `json:"messages"`
	MessageID string        `json:"messageId"`
}

type chatMessage struct {
	ID       string            `json:"id"`
	Role     string            `json:"role"`
	Parts    []json.RawMessage `json:"parts"`
	Metadata json.RawMessage   `json:"metadata"`
}

// chatPart has the members of the parts that matter here.
type chatPart struct {
	Type        string          `json:"type"`
	Text        string          `json:"text"`
	ToolCallID  string          `json:"toolCallId"`
	State       string          `json:"state"`
	Output      json.RawMessage `json:"output"`
	Preliminary bool            `json:"preliminary"`
	Approval    *struct {
		Approved *bool  `json:"approved"`
		Reason   string `json:"reason"`
	} `json:"approval"`
	Result map[string]json.RawMessage `json:"resultProviderMetadata"`
}

const mark = "interlude"

// place is the position of a client's message in the run: its metadata.
type place struct {
	Run       string `json:"run"`
	LastEvent uint64 `json:"last_event"`
}

// place returns the message's place. It reports false if the page does not keep metadata.
func (m *chatMessage) place() (p place, ok bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(m.Metadata, &all) != nil || json.Unmarshal(all[mark], &p) != nil || p.Run == "" {
		return place{}, false
	}
	return p, true
}

// parts returns the readable parts. Unknown ones are left to the page.
func (m *chatMessage) parts() (all []chatPart) {
	for _, raw := range m.Parts {
		var p chatPart
		if reqbody.Unmarshal(raw, &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

func (m *chatMessage) text() string {
	var texts []string
	for _, p := range m.parts() {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// answer returns the answer in the part. It returns nil without an answer, or if this package has
// already confirmed the answer.
func (p *chatPart) answer() json.RawMessage {
	switch {
	case p.State == "approval-responded" && p.Approval != nil && p.Approval.Approved != nil:
		value, _ := json.Marshal(verdict{Approved: p.Approval.Approved, Reason: p.Approval.Reason})
		return value
	case p.State == "output-available" && !p.Preliminary && !p.final():
		return p.Output
	}
	return nil
}

// final reports whether the part has an outcome that this package has written.
func (p *chatPart) final() bool {
	return p.State == "output-denied" || p.Result[mark] != nil
}

// target returns the message that the response continues: the named one, otherwise the last.
func (in *chatInput) target() *chatMessage {
	for i := range in.Messages {
		if m := &in.Messages[i]; m.ID == in.MessageID && m.ID != "" && m.Role == "assistant" {
			return m
		}
	}
	return &in.Messages[len(in.Messages)-1]
}

func (q *request) postChat(ctx context.Context) {
	body, ok := q.body()
	if !ok {
		return
	}
	var in chatInput
	if reqbody.Unmarshal(body, &in) != nil || !validID(in.ID) || len(in.Messages) == 0 {
		q.refuse(http.StatusBadRequest, "want a JSON object with id and messages")
		return
	}
	m := in.target()
	if !validID(m.ID) {
		q.refuse(http.StatusBadRequest, "the message has no usable id")
		return
	}
	if m.Role != "assistant" {
		text := m.text()
		if text == "" {
			q.refuse(http.StatusBadRequest, "the message has no text")
			return
		}
		run, cursor, err := q.say(ctx, message{in.ID, m.ID, text}, body)
		q.writeChat(ctx, &chatWriter{message: fmt.Sprintf("%s-%d", run, cursor)}, run, cursor, err)
		return
	}
	q.continueChat(ctx, in.ID, m)
}

// continueChat sends the answers in a message of the assistant, and continues the message.
func (q *request) continueChat(ctx context.Context, chat string, m *chatMessage) {
	at, placed := m.place()
	out := &chatWriter{calls: make(map[string]bool), held: make(map[int]bool), reask: make(map[string]bool)}
	var answers []given
	for _, p := range m.parts() {
		c, ok := parseCall(p.ToolCallID)
		if !ok {
			continue
		}
		if at.Run == "" {
			at.Run = c.run
		}
		out.calls[p.ToolCallID] = true
		if c.run != at.Run || p.final() {
			continue
		}
		out.held[c.question] = true
		if value := p.answer(); value != nil {
			answers = append(answers, given{c, p.ToolCallID, value})
		}
	}
	v, err := q.ofChat(ctx, chat, at.Run)
	if err != nil {
		q.writeChat(ctx, out, "", 0, err)
		return
	}
	cursor, err := q.cursorOf(ctx, &v.Run, at, placed, out.held)
	if err != nil {
		q.writeChat(ctx, out, "", 0, err)
		return
	}
	if len(answers) > MaxAnswers {
		q.refuse(http.StatusBadRequest, "too many answers")
		return
	}
	for i := range answers {
		g := &answers[i]
		if !slices.ContainsFunc(v.Run.Open, func(o lifecycle.Question) bool { return o.ID == g.question }) {
			continue // it was settled: the stream shows the settlement
		}
		if err := q.answer(ctx, g); err != nil && !settledElsewhere(err) {
			out.reask[g.id] = true
			out.refused = append(out.refused, q.fault(ctx, err))
		}
	}
	q.writeChat(ctx, out, v.Run.ID, cursor, nil)
}

// cursorOf returns the place of a client's message in its run. If the page does not keep the message's
// metadata, it has not seen what follows the first of its questions that was settled.
func (q *request) cursorOf(ctx context.Context, r *lifecycle.Run, at place, placed bool, held map[int]bool) (
	uint64, error,
) {
	settled := maps.Clone(held)
	for i := range r.Open {
		delete(settled, r.Open[i].ID)
	}
	maps.DeleteFunc(settled, func(n int, _ bool) bool { return n < 1 || n > r.Interactions })
	switch {
	case placed:
		return min(at.LastEvent, r.Seq), nil
	case len(settled) > 0:
		return q.before(ctx, r, settled)
	}
	return r.Seq, nil
}

// ofChat returns a run that the client has named, if it belongs to the chat. Without a name it
// returns the chat's current run.
func (q *request) ofChat(ctx context.Context, chat, run string) (front.View, error) {
	if run == "" {
		return q.current(ctx, chat)
	}
	v, err := q.Load(ctx, run)
	key, value := Label(q.Actor().ID, chat)
	switch {
	case errors.Is(err, lifecycle.ErrInvalidArgument):
		return v, lifecycle.ErrNotFound
	case err == nil && v.Run.Labels[key] != value:
		return front.View{}, lifecycle.ErrNotFound
	}
	return v, err
}

// resumeChat streams the current run from its start: the client replaces its message.
func (q *request) resumeChat(ctx context.Context) {
	segments := strings.Split(strings.TrimSuffix(q.http.URL.EscapedPath(), "/"), "/")
	if len(segments) < 2 || segments[len(segments)-1] != "stream" {
		q.refuse(http.StatusNotFound, "want …/{id}/stream")
		return
	}
	chat, err := url.PathUnescape(segments[len(segments)-2])
	if err != nil || !validID(chat) {
		q.refuse(http.StatusNotFound, "there is no such chat")
		return
	}
	v, err := q.current(ctx, chat)
	if errors.Is(err, lifecycle.ErrNotFound) {
		q.input.CloseUnread(q.w.Header())
		q.w.WriteHeader(http.StatusNoContent)
		return
	}
	q.writeChat(ctx, &chatWriter{message: v.Run.ID + "-0"}, v.Run.ID, 0, err)
}

// writeChat writes the stream of a run, or the error.
func (q *request) writeChat(ctx context.Context, out *chatWriter, run string, cursor uint64, err error) {
	s := q.stream(ctx, http.Header{"X-Vercel-Ai-Ui-Message-Stream": {"v1"}})
	defer s.close()
	out.sse = s
	if err != nil {
		out.fault(q.fault(ctx, err))
		return
	}
	out.run, out.last = run, cursor
	if out.calls == nil {
		out.calls = make(map[string]bool)
	}
	f := follower{request: q, out: out, run: run, cursor: cursor, held: out.held, shown: make(map[int]bool)}
	f.follow(s.ctx)
}

// chatWriter encodes a run as one message of the assistant.
type chatWriter struct {
	*sse

	message string // the id of a new message; empty: the client's message continues
	run     string
	last    uint64 // the last event
	calls   map[string]bool
	held    map[int]bool
	// reask are the calls whose answers were refused; they are asked again.
	reask   map[string]bool
	refused []front.Fault
	view    front.View
	attempt int // of the open step
	stepped bool
}

type object = map[string]any

func (c *chatWriter) part(kind string, members object) {
	all := object{"type": kind}
	maps.Copy(all, members)
	c.send(encode(all))
}

func encode(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		return `{"type":"error","errorText":"INTERNAL"}` // unreachable: stored JSON is valid
	}
	return string(body)
}

func (c *chatWriter) metadata() object {
	return object{"messageMetadata": object{mark: place{c.run, c.last}}}
}

func (c *chatWriter) open(*front.View) {
	m := c.metadata()
	if c.message != "" {
		m["messageId"] = c.message
	}
	c.part("start", m)
}

// step begins a step of the message for each attempt. The client sends a message again when all
// calls of its last step have results, so what follows must be in another step.
func (c *chatWriter) step(attempt int) {
	if c.stepped && c.attempt == attempt {
		return
	}
	c.endStep()
	c.part("start-step", nil)
	c.stepped, c.attempt = true, attempt
}

func (c *chatWriter) endStep() {
	if c.stepped {
		c.part("finish-step", nil)
	}
}

func (c *chatWriter) state(v *front.View) {
	c.view = *v
	c.part("data-state", object{"transient": true, "data": object{"run": v.Run.ID, "state": string(v.Run.State),
		"status": v.Status(), "last_event": v.Run.Seq}})
}

func (c *chatWriter) text(e *lifecycle.Event, text string) {
	c.last = e.Seq
	if text == "" {
		return
	}
	c.step(e.Meta.Attempt)
	id := fmt.Sprint(e.Seq)
	c.part("text-start", object{"id": id})
	c.part("text-delta", object{"id": id, "delta": text})
	c.part("text-end", object{"id": id})
	c.part("message-metadata", c.metadata())
}

func (c *chatWriter) other(e *lifecycle.Event) { c.last = e.Seq }

// show writes the call that asks a question, if the client does not have it.
func (c *chatWriter) show(q *lifecycle.Question) (id string) {
	id = callID(c.run, q)
	if c.calls[id] && !c.reask[id] {
		return id
	}
	if !c.calls[id] {
		c.step(q.Attempt)
	}
	c.calls[id] = true
	if q.Subject == nil {
		c.part("tool-input-available", object{"toolCallId": id, "toolName": AskTool, "input": c.askInput(q)})
		return id
	}
	call := object{"toolCallId": id, "toolName": q.Subject.Tool, "dynamic": true, "input": object{}}
	if len(q.Subject.Arguments) > 0 {
		call["input"] = q.Subject.Arguments
	}
	if q.Subject.Title != "" {
		call["title"] = interaction.VisibleProse(q.Subject.Title)
	}
	c.part("tool-input-available", call)
	c.request(id, q)
	return id
}

// request writes the request for an approval. Its reason has the call with its exact arguments, and
// the risk.
func (c *chatWriter) request(id string, q *lifecycle.Question) {
	c.part("tool-approval-request", object{"toolCallId": id, "approvalId": id, "reason": c.view.Message(q)})
}

func (c *chatWriter) askInput(q *lifecycle.Question) object {
	in := object{"message": c.view.Message(q), "kind": string(q.Kind)}
	if schema := responseSchema(q); len(schema) > 0 {
		in["schema"] = schema
	}
	var options []object
	for _, o := range q.Choices() {
		label, _ := o.Shown()
		options = append(options, object{"label": label, "value": o.Value})
	}
	if options != nil {
		in["options"] = options
	}
	return in
}

func (c *chatWriter) settled(r *lifecycle.Record) {
	q := &r.Question
	id := c.show(q)
	by := object{mark: decidedBy(r)}
	switch {
	case r.Resolution == lifecycle.Abandoned || r.Resolution == lifecycle.Superseded:
		c.part("tool-output-error", object{"toolCallId": id, "errorText": settlement(r), "providerMetadata": by})
	case q.Subject == nil:
		c.part("tool-output-available", object{"toolCallId": id, "output": outcome(r), "providerMetadata": by})
	default:
		approved := r.Decision == lifecycle.Approve || r.Decision == lifecycle.Edit
		c.request(id, q)
		c.part("tool-approval-response", object{"approvalId": id, "approved": approved, "reason": settlement(r)})
		if approved {
			c.part("tool-output-available", object{"toolCallId": id, "output": outcome(r), "providerMetadata": by})
		} else {
			c.part("tool-output-denied", object{"toolCallId": id})
		}
	}
	c.part("message-metadata", c.metadata())
}

func (c *chatWriter) voted(r *lifecycle.Record) {
	if id := callID(c.run, &r.Question); c.calls[id] {
		c.part("tool-output-available", object{"toolCallId": id, "preliminary": true,
			"output": object{"votes": len(r.Question.Votes)}})
	}
}

func (c *chatWriter) finish(v *front.View) {
	for i := range v.Asks {
		c.show(&v.Asks[i])
	}
	reason := "other"
	switch {
	case v.Run.State == lifecycle.StateSucceeded:
		reason = "stop"
		if len(v.Run.Output) > 0 {
			c.step(v.Run.Attempt)
			c.part("data-output", object{"id": v.Run.ID, "data": v.Run.Output})
		}
	case len(v.Asks) > 0:
		reason = "tool-calls"
	case v.Run.State == lifecycle.StateFailed:
		reason = "error"
	}
	if len(v.Asks) == 0 && !c.stepped {
		c.step(v.Run.Attempt) // otherwise the client could send its last step again
	}
	c.endStep()
	end := c.metadata()
	end["finishReason"] = reason
	c.part("finish", end)
	switch {
	case v.Run.State == lifecycle.StateCanceled:
		c.part("abort", object{"reason": "The run was canceled. " +
			interaction.VisibleProse(v.Run.CancelReason)})
	case v.Run.State == lifecycle.StateFailed && v.Run.Error != nil:
		c.part("error", object{"errorText": "The run failed with " + string(v.Run.Error.Code) + ". " +
			interaction.VisibleProse(v.Run.Error.Message)})
		return
	case len(c.refused) > 0:
		c.fault(c.refused[0])
		return
	}
	c.send("[DONE]")
}

func (c *chatWriter) fault(f front.Fault) { c.part("error", object{"errorText": f.Text}) }
