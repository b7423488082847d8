package modelagent

import (
	"encoding/json"

	"github.com/interlude-go/interlude/engine/modeltest"
)

// arguments are a call's as a JSON text.
func arguments(cmd string) string {
	body, _ := json.Marshal(object{"cmd": cmd})
	return string(body)
}

type responses struct{}

func (responses) path(bool) string { return "/v1/responses" }

func (responses) request(q Question) object {
	input := []any{object{"type": "message", "role": "developer", "content": []any{object{"type": "input_text",
		"text": "You are a tiny agent."}}}}
	for _, e := range q.Session {
		switch e.Role {
		case modeltest.User:
			input = append(input, object{"type": "message", "role": "user",
				"content": []any{object{"type": "input_text", "text": e.Text}}})
		case modeltest.Assistant:
			input = append(input, object{"type": "message", "role": "assistant",
				"content": []any{object{"type": "output_text", "text": e.Text}}})
		case modeltest.ToolCall:
			input = append(input, object{"type": "function_call", "call_id": e.ID, "name": tool,
				"arguments": arguments(e.Text)})
		case modeltest.ToolResult:
			input = append(input, object{"type": "function_call_output", "call_id": e.ID, "output": e.Text})
		}
	}
	body := object{"model": "tiny", "stream": q.Stream, "input": input}
	if !q.NoTools {
		body["tools"] = []any{object{"type": "function", "name": tool, "parameters": parameters}}
	}
	if q.Schema != nil {
		body["text"] = object{"format": object{"type": "json_schema", "schema": q.Schema}}
	}
	return body
}

func (responses) hear(event object, a *Answer) {
	item := dig(event, "item")
	switch text(event, "type") {
	case "response.output_text.delta":
		a.say(text(event, "delta"))
	case "response.output_item.done":
		if text(item, "type") == "function_call" {
			a.call(text(item, "call_id"), []byte(text(item, "arguments")))
		}
	case "response.completed":
		a.Ended = text(event, "response", "status") == "completed"
	case "": // a whole response
		for _, item := range list(event, "output") {
			a.say(text(item, "content", 0, "text"))
			if text(item, "type") == "function_call" {
				a.call(text(item, "call_id"), []byte(text(item, "arguments")))
			}
		}
		a.Ended = text(event, "status") == "completed"
	}
}

type chat struct{}

func (chat) path(bool) string { return "/v1/chat/completions" }

func (chat) request(q Question) object {
	all := []any{object{"role": "system", "content": "You are a tiny agent."}}
	for _, e := range q.Session {
		switch e.Role {
		case modeltest.User, modeltest.Assistant:
			all = append(all, object{"role": e.Role, "content": e.Text})
		case modeltest.ToolCall:
			call := object{"id": e.ID, "type": "function", "function": object{"name": tool,
				"arguments": arguments(e.Text)}}
			all = append(all, object{"role": "assistant", "content": nil, "tool_calls": []any{call}})
		case modeltest.ToolResult:
			all = append(all, object{"role": "tool", "tool_call_id": e.ID, "content": e.Text})
		}
	}
	body := object{"model": "tiny", "stream": q.Stream, "messages": all,
		"stream_options": object{"include_usage": true}}
	if !q.NoTools {
		body["tools"] = []any{object{"type": "function", "function": object{"name": tool, "parameters": parameters}}}
	}
	if q.Schema != nil {
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "answer",
			"schema": q.Schema}}
	}
	return body
}

func (chat) hear(event object, a *Answer) {
	for _, kind := range []string{"delta", "message"} {
		said := dig(event, "choices", 0, kind)
		a.say(text(said, "content"))
		for _, call := range list(said, "tool_calls") {
			a.call(text(call, "id"), []byte(text(call, "function", "arguments")))
		}
	}
	if text(event, "choices", 0, "finish_reason") != "" {
		a.Ended = true
	}
}
