package ui_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
)

// identify reads the person from the header of the tests.
func identify(r *http.Request) (lifecycle.Actor, error) {
	return lifecycle.Actor{ID: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}, nil
}

type object = map[string]any

// desk serves both encodings, and keeps what pages keep: the messages of each chat.
type desk struct {
	fronttest.Config

	url string

	mu    *sync.Mutex
	chats map[string]string // guarded by mu; by run
	kept  map[string]object // guarded by mu; by person and run: the page's last message or state
}

func newDesk(tb testing.TB, c fronttest.Config, change func(*ui.Config)) desk {
	tb.Helper()
	cfg := ui.Config{Client: c.Client, Identify: identify, Hold: 200 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
		Start: func(_ context.Context, caller lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			return c.Spec(caller.ID, m.Text), nil
		}}
	if change != nil {
		change(&cfg)
	}
	s, err := ui.New(cfg)
	require.NoError(tb, err)
	mux := http.NewServeMux()
	mux.Handle("/chat", s.Chat())
	mux.Handle("/chat/", s.Chat())
	mux.Handle("/agui", s.AGUI())
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	tb.Cleanup(s.Close)
	return desk{c, server.URL, new(sync.Mutex), make(map[string]string), make(map[string]object)}
}

// call makes a request and returns the events of its stream.
func (d desk) call(ctx context.Context, person, method, path string, body object) (
	events []object, status int, _ error,
) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, 0, err
		}
		in = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, d.url+path, in)
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Authorization", "Bearer "+person)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, 0, err
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusBadRequest {
		text, err := io.ReadAll(res.Body)
		return nil, res.StatusCode, errors.Join(err, fmt.Errorf("%d %s", res.StatusCode, text))
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var event object
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return nil, 0, err
		}
		events = append(events, event)
	}
	return events, res.StatusCode, errors.Join(lines.Err(), ctx.Err())
}

func (d desk) chatOf(run string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if chat := d.chats[run]; chat != "" {
		return chat
	}
	return run
}

func (d desk) remember(person, run string, value object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept[person+" "+run] = value
}

func (d desk) remembered(person, run string) object {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept[person+" "+run]
}

// newChat returns the id of a chat and keeps its run.
func (d desk) newChat(run string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	chat := "chat-" + strconv.Itoa(len(d.chats)+1)
	if run != "" {
		d.chats[run] = chat
	}
	return chat
}

// starts makes the request that starts a run, and leaves the stream at its beginning.
func (d desk) starts(ctx context.Context, person, path string, body object) (run string, _ error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+path, bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+person)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		var state struct{ Data, Snapshot struct{ Run string } }
		data, _ := strings.CutPrefix(lines.Text(), "data: ")
		if json.Unmarshal([]byte(data), &state) != nil {
			continue
		}
		if run := state.Data.Run + state.Snapshot.Run; run != "" {
			return run, nil
		}
	}
	return "", errors.New("the stream names no run")
}

// byChat is a page with useChat.
type byChat struct{ desk }

func said(id, text string) object {
	return object{"id": id, "role": "user", "parts": []object{{"type": "text", "text": text}}}
}

func (b byChat) Start(ctx context.Context, person, prompt string) (string, error) {
	chat := b.newChat("")
	run, err := b.starts(ctx, person, "/chat", object{"id": chat, "messages": []object{said("m1", prompt)}})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chats[run] = chat
	return run, err
}

func (b byChat) See(ctx context.Context, person, run string) (s fronttest.Seen, _ error) {
	events, status, err := b.call(ctx, person, http.MethodGet, "/chat/"+b.chatOf(run)+"/stream", nil)
	if err != nil {
		return s, err
	}
	if status == http.StatusNoContent {
		return s, errors.New("there is no such chat")
	}
	message, state, err := assemble(events)
	if err != nil {
		return s, err
	}
	b.remember(person, run, message)
	s.Ended = lifecycle.State(fmt.Sprint(state["state"])).Terminal()
	parts, _ := message["parts"].([]object)
	for _, p := range parts {
		switch p["state"] {
		case "input-available", "approval-requested":
			if !s.Ended {
				s.Questions = append(s.Questions, numberOf(p["toolCallId"]))
			}
		}
		if p["type"] == "text" {
			s.Result += fmt.Sprint(p["text"])
		}
	}
	if !s.Ended && s.Questions == nil {
		s.Status, _ = state["status"].(string)
	}
	return s, nil
}

func numberOf(id any) int {
	parts := strings.Split(fmt.Sprint(id), ".")
	n, _ := strconv.Atoi(parts[len(parts)-2])
	return n
}

// assemble is what the AI SDK does with a stream.
func assemble(events []object) (message, state object, _ error) {
	var parts []object
	message = object{"role": "assistant"}
	find := func(id any) object {
		for _, p := range parts {
			if p["toolCallId"] == id || p["approvalId"] == id {
				return p
			}
		}
		panic(fmt.Sprint("no call ", id))
	}
	for _, e := range events {
		switch e["type"] {
		case "start":
			message["id"] = e["messageId"]
		case "text-delta":
			parts = append(parts, object{"type": "text", "text": e["delta"]})
		case "tool-input-available":
			parts = append(parts, object{"type": "dynamic-tool", "toolCallId": e["toolCallId"],
				"state": "input-available"})
		case "tool-approval-request":
			find(e["toolCallId"])["state"] = "approval-requested"
		case "tool-output-available", "tool-output-error":
			if e["preliminary"] != true {
				find(e["toolCallId"])["state"] = "output-available"
			}
		case "tool-output-denied":
			find(e["toolCallId"])["state"] = "output-denied"
		case "data-state":
			state, _ = e["data"].(object)
		case "error":
			if state == nil || !lifecycle.State(fmt.Sprint(state["state"])).Terminal() {
				return nil, nil, errors.New(fmt.Sprint(e["errorText"]))
			}
		}
		if m, ok := e["messageMetadata"]; ok {
			message["metadata"] = m
		}
	}
	message["parts"] = parts
	return message, state, nil
}

func (b byChat) Answer(ctx context.Context, person, run, _ string, a fronttest.Answer) error {
	message := b.remembered("ada", run)
	if message == nil || !asks(message, a.Question) {
		_, _ = b.See(ctx, "ada", run)
		message = b.remembered("ada", run)
	}
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	var sent struct {
		ID       string   `json:"id"`
		Role     string   `json:"role"`
		Parts    []object `json:"parts"`
		Metadata any      `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &sent); err != nil {
		return err
	}
	for _, p := range sent.Parts {
		if p["toolCallId"] == nil || numberOf(p["toolCallId"]) != a.Question {
			continue
		}
		if a.Decision != "" {
			p["state"] = "approval-responded"
			p["approval"] = object{"approved": a.Decision == lifecycle.Approve, "reason": a.Text}
		} else {
			p["state"], p["output"] = "output-available", a.Text
		}
	}
	events, _, err := b.call(ctx, person, http.MethodPost, "/chat", object{"id": b.chatOf(run),
		"messages": []any{said("m1", "…"), sent}})
	if err == nil && len(events) > 0 && events[len(events)-1]["type"] == "error" {
		err = errors.New(fmt.Sprint(events[len(events)-1]["errorText"]))
	}
	return err
}

func asks(message object, question int) bool {
	parts, _ := message["parts"].([]object)
	for _, p := range parts {
		if p["toolCallId"] != nil && numberOf(p["toolCallId"]) == question {
			return true
		}
	}
	return false
}

// Dismiss sends the message again without an answer.
func (b byChat) Dismiss(ctx context.Context, person, run string, _ int) error {
	if _, err := b.See(ctx, person, run); err != nil {
		return err
	}
	_, _, err := b.call(ctx, person, http.MethodPost, "/chat", object{"id": b.chatOf(run),
		"messages": []any{said("m1", "…"), b.remembered(person, run)}})
	return err
}

// P2, P3, P5, N1, N10: the AI SDK's stream passes the table of traps of front ends.
func TestP2TheChatPassesTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		return byChat{newDesk(tb, c, nil)}
	})
}

// byAGUI is a page with an AG-UI client.
type byAGUI struct{ desk }

func (b byAGUI) Start(ctx context.Context, person, prompt string) (string, error) {
	chat := b.newChat("")
	run, err := b.starts(ctx, person, "/agui", object{"threadId": chat, "runId": "r1", "messages": []object{{"id": "m1",
		"role": "user", "content": prompt}}})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chats[run] = chat
	return run, err
}

func (b byAGUI) run(ctx context.Context, person, run string, resume []object) (
	s fronttest.Seen, ids []string, _ error,
) {
	events, _, err := b.call(ctx, person, http.MethodPost, "/agui", object{"threadId": b.chatOf(run), "runId": "r2",
		"messages": []object{}, "resume": resume})
	if err != nil {
		return s, nil, err
	}
	for _, e := range events {
		switch e["type"] {
		case "MESSAGES_SNAPSHOT":
			all, _ := e["messages"].([]any)
			for _, m := range all {
				one, _ := m.(object)
				s.Result += fmt.Sprint(one["content"])
			}
		case "TEXT_MESSAGE_CONTENT":
			s.Result += fmt.Sprint(e["delta"])
		case "RUN_ERROR":
			s.Ended = e["code"] != "NOT_FOUND"
			return s, nil, errors.New(fmt.Sprint(e["code"], " ", e["message"]))
		case "RUN_FINISHED":
			end, _ := e["outcome"].(object)
			s.Ended = end["type"] != "interrupt"
			all, _ := end["interrupts"].([]any)
			for _, i := range all {
				one, _ := i.(object)
				if strings.HasPrefix(fmt.Sprint(one["reason"]), "interlude:") {
					s.Status = fmt.Sprint(one["message"])
					continue
				}
				ids = append(ids, fmt.Sprint(one["id"]))
				s.Questions = append(s.Questions, numberOf(one["id"]))
			}
		}
	}
	return s, ids, nil
}

func (b byAGUI) See(ctx context.Context, person, run string) (fronttest.Seen, error) {
	s, ids, err := b.run(ctx, person, run, nil)
	if err == nil && len(ids) > 0 {
		b.remember(person, run, object{"ids": ids})
	}
	return s, err
}

func (b byAGUI) respond(ctx context.Context, person, run string, question int, response object) error {
	for range 2 {
		ids, _ := b.remembered("ada", run)["ids"].([]string)
		for _, id := range ids {
			if numberOf(id) == question {
				response["interruptId"] = id
				_, _, err := b.run(ctx, person, run, []object{response})
				return err
			}
		}
		if _, err := b.See(ctx, "ada", run); err != nil {
			return err
		}
	}
	return errors.New("not asked")
}

func (b byAGUI) Answer(ctx context.Context, person, run, _ string, a fronttest.Answer) error {
	payload := any(a.Text)
	if a.Decision != "" {
		payload = object{"approved": a.Decision == lifecycle.Approve, "reason": a.Text}
	}
	return b.respond(ctx, person, run, a.Question, object{"status": "resolved", "payload": payload})
}

func (b byAGUI) Dismiss(ctx context.Context, person, run string, question int) error {
	return b.respond(ctx, person, run, question, object{"status": "cancelled"})
}

// P2, P3, P5, N1, N10: AG-UI passes the table of traps of front ends.
func TestP2AGUIPassesTheTraps(t *testing.T) {
	fronttest.Run(t, func(tb testing.TB, c fronttest.Config) fronttest.FrontEnd {
		tb.Helper()
		return byAGUI{newDesk(tb, c, nil)}
	})
}
