package modelagent

import (
	"encoding/json"

	"github.com/interlude-go/interlude/engine/modeltest"
)

type gemini struct{}

func (gemini) path(stream bool) string {
	if stream {
		return "/v1beta/models/tiny:streamGenerateContent"
	}
	return "/v1beta/models/tiny:generateContent"
}

func (gemini) request(q Question) object {
	var all []any
	add := func(role string, part object) {
		all = append(all, object{"role": role, "parts": []any{part}})
	}
	for _, e := range q.Session {
		switch e.Role {
		case modeltest.User:
			add("user", object{"text": e.Text})
		case modeltest.Assistant:
			add("model", object{"text": e.Text})
		case modeltest.ToolCall:
			add("model", object{"functionCall": object{"id": e.ID, "name": tool, "args": object{"cmd": e.Text}}})
		case modeltest.ToolResult:
			add("user", object{"functionResponse": object{"id": e.ID, "name": tool,
				"response": object{"output": e.Text}}})
		}
	}
	body := object{"contents": all,
		"systemInstruction": object{"parts": []any{object{"text": "You are a tiny agent."}}}}
	if !q.NoTools {
		body["tools"] = []any{object{"functionDeclarations": []any{object{"name": tool,
			"parametersJsonSchema": parameters}}}}
	}
	if q.Schema != nil {
		body["generationConfig"] = object{"responseMimeType": "application/json", "responseJsonSchema": q.Schema}
	}
	return body
}

func (gemini) hear(event object, a *Answer) {
	candidate := dig(event, "candidates", 0)
	for _, part := range list(candidate, "content", "parts") {
		a.say(text(part, "text"))
		if call := dig(part, "functionCall"); call != nil {
			args, _ := json.Marshal(dig(call, "args"))
			a.call(text(call, "id"), args)
		}
	}
	if text(candidate, "finishReason") != "" {
		a.Ended = true
	}
}
