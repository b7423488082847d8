package frontends_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// chatEvent has the members of the events of both encodings that matter here.
type chatEvent struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"toolCallId"`
	Output     json.RawMessage `json:"output"`
	Metadata   struct {
		Interlude struct{ Resolution, By string }
	} `json:"providerMetadata"`

	Code    string          `json:"code"`
	Result  json.RawMessage `json:"result"`
	Outcome struct {
		Type       string                `json:"type"`
		Interrupts []struct{ ID string } `json:"interrupts"`
	} `json:"outcome"`
}

// stream makes a request of ivan's page, and returns the events of a stream that came to its end; nil:
// unknown.
func (w *world) stream(ctx context.Context, method, path, body string) (events []chatEvent) {
	for ctx.Err() == nil {
		events = nil
		a, _ := w.request(ctx, method, path, http.Header{"Authorization": {"Bearer ivan"}}, body)
		if a == nil {
			return nil
		}
		for line := range strings.Lines(string(a.body)) {
			var e chatEvent
			data, ok := strings.CutPrefix(line, "data: ")
			if ok && json.Unmarshal([]byte(data), &e) == nil {
				events = append(events, e)
			}
		}
		if n := len(events); n > 0 {
			switch last := events[n-1]; {
			case last.Type == "finish", last.Type == "abort", last.Type == "RUN_FINISHED",
				last.Type == "RUN_ERROR" && last.Code == "SETTLED":
				return events
			}
		}
		cast.Pause(ctx, sample.N(5*time.Millisecond)) // the node is being killed
	}
	return nil
}

// inUseChat is a person at a page with the AI SDK.
func (w *world) inUseChat(ctx context.Context, q asked) outcome {
	shown := w.stream(ctx, http.MethodGet, "/chat/"+q.run+"/stream", "")
	for _, e := range shown {
		if e.Type != "tool-input-available" {
			continue
		}
		said := w.stream(ctx, http.MethodPost, "/chat/", `{"id":"`+q.run+`","messages":[{"id":"a","role":"assistant","parts":[{`+
			`"type":"tool-ask_user","toolCallId":"`+e.ToolCallID+`","state":"output-available","output":"ivan was"}]}]}`)
		shown = append(shown, said...)
		break
	}
	for _, e := range shown {
		switch by := e.Metadata.Interlude; {
		case by.Resolution == "":
		case by.By == "ivan":
			return outcome{done: true}
		default:
			return outcome{winner: winner(by.Resolution, by.By)}
		}
	}
	return outcome{unknown: true}
}

// inAGUI is a person at a page with AG-UI. The result is the agent's, which ends with the text of the
// answer that counts.
func (w *world) inAGUI(ctx context.Context, q asked) outcome {
	const start = `{"runId":"r","messages":[],"threadId":"`
	events := w.stream(ctx, http.MethodPost, "/agui", start+q.run+`"}`)
	for range 3 {
		if len(events) == 0 {
			return outcome{unknown: true}
		}
		last := events[len(events)-1]
		var text string
		switch {
		case len(last.Outcome.Interrupts) > 0:
			events = w.stream(ctx, http.MethodPost, "/agui", start+q.run+`","resume":[{"interruptId":"`+
				last.Outcome.Interrupts[0].ID+`","status":"resolved","payload":"ivan was"}]}`)
			continue
		case last.Type == "RUN_ERROR": // settled: by whom?
			events = w.stream(ctx, http.MethodPost, "/agui", start+q.run+`"}`)
			continue
		case last.Outcome.Type != "success" || json.Unmarshal(last.Result, &text) != nil:
			return outcome{unknown: true} // the run was canceled, before or after an answer
		}
		return resultOf(text, "ivan")
	}
	return outcome{unknown: true}
}

var settledInSlack = regexp.MustCompile(`already settled\. (?:Answered by (\w+)|(Decided)|(Closed))`)

// inSlack is a person who submits a modal in Slack.
func (w *world) inSlack(ctx context.Context, q asked) outcome {
	body, err := slacktest.Encode(slacktest.Submission("judy", []byte(`{"callback_id":"answer","private_metadata":`+
		`"CDESK 1.1 1.`+q.Digest()+`.`+q.run+`"}`), map[string]any{"input-0": map[string]any{
		"value": map[string]string{"type": "plain_text_input", "value": "judy was"}}}))
	if err != nil {
		return wrong("%v", err)
	}
	var a *answer
	signed := slacktest.Sign(slacktest.Secret, time.Now(), body)
	for a == nil || a.status == http.StatusTooManyRequests { // she answers many questions at once
		cast.Pause(ctx, sample.N(5*time.Millisecond))
		a, _ = w.request(ctx, http.MethodPost, "/slack", signed, string(body))
		if a == nil {
			return outcome{unknown: true}
		}
	}
	said := (&slacktest.Response{Status: a.status, Body: a.body}).Updated()
	settled := settledInSlack.FindStringSubmatch(said)
	switch {
	case a.status == http.StatusOK && len(a.body) == 0:
		return outcome{done: true}
	case strings.Contains(said, "takes longer"), strings.Contains(said, "unknown whether"):
		return outcome{unknown: true}
	case settled == nil:
		return wrong("%d %s", a.status, a.body)
	case settled[2] != "":
		return outcome{winner: string(lifecycle.AutoDecideTimeout)}
	case settled[3] != "":
		return outcome{winner: string(lifecycle.Abandoned)}
	}
	return outcome{winner: winner(string(lifecycle.UserReply), settled[1])}
}

// resultOf is the outcome for a person, by the agent's result.
func resultOf(text, person string) outcome {
	switch by, answered := strings.CutSuffix(text, " was"); {
	case by == person:
		return outcome{done: true}
	case answered:
		return outcome{winner: winner(string(lifecycle.UserReply), by)}
	}
	return outcome{winner: string(lifecycle.AutoDecideTimeout)}
}
