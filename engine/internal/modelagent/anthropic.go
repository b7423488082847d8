package modelagent

import (
	"encoding/json"

	"github.com/interlude-go/interlude/engine/modeltest"
)

type messages struct{}

func (messages) path(bool) string { return "/v1/messages" }

func (messages) request(q Question) object {
	var all []any
	add := func(role string, block object) {
		all = append(all, object{"role": role, "content": []any{block}})
	}
	for _, e := range q.Session {
		switch e.Role {
		case modeltest.User, modeltest.Assistant:
			add(string(e.Role), object{"type": "text", "text": e.Text})
		case modeltest.ToolCall:
			add("assistant", object{"type": "tool_use", "id": e.ID, "name": tool, "input": object{"cmd": e.Text}})
		case modeltest.ToolResult:
			add("user", object{"type": "tool_result", "tool_use_id": e.ID, "content": []any{object{"type": "text",
				"text": e.Text}}})
		}
	}
	body := object{"model": "tiny", "max_tokens": 1000, "stream": q.Stream, "system": "You are a tiny agent.",
		"messages": all}
	if !q.NoTools {
		body["tools"] = []any{object{"name": tool, "input_schema": parameters}}
	}
	if q.Schema != nil {
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": q.Schema}}
	}
	return body
}

func (messages) hear(event object, a *Answer) {
	switch text(event, "type") {
	case "content_block_start":
		if text(event, "content_block", "type") == "tool_use" {
			a.Call = &Entry{Role: modeltest.ToolCall, ID: text(event, "content_block", "id")}
		}
	case "content_block_delta":
		a.say(text(event, "delta", "text"))
		if args := text(event, "delta", "partial_json"); args != "" && a.Call != nil {
			a.call(a.Call.ID, []byte(args))
		}
	case "message_stop":
		a.Ended = true
	case "message": // a whole response
		for _, block := range list(event, "content") {
			a.say(text(block, "text"))
			if text(block, "type") == "tool_use" {
				args, _ := json.Marshal(dig(block, "input"))
				a.call(text(block, "id"), args)
			}
		}
		a.Ended = text(event, "stop_reason") != ""
	}
}
