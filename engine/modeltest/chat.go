package modeltest

import (
	"encoding/json"
	"time"
)

// chat is the protocol of OpenAI's Chat Completions, used by many other providers.
type chat struct{}

func (chat) read(body value, _ string) Conversation {
	c := Conversation{
		API: Chat, Model: body.at("model").str(), Stream: body.at("stream").isTrue(),
		Schema: body.at("response_format", "json_schema", "schema").raw(), usage: body.at("stream_options",
			"include_usage").isTrue(),
	}
	if c.Schema == nil && body.at("response_format", "type").str() == "json_object" {
		c.Schema = json.RawMessage(`{}`)
	}
	for _, m := range body.at("messages").list() {
		content := m.at("content")
		switch m.at("role").str() {
		case "user":
			for _, text := range parts(content) {
				c.addUser(text)
			}
		case "assistant":
			c.add(Assistant, content.text())
			for _, call := range m.at("tool_calls").list() {
				c.add(ToolCall, call.at("function", "name").str())
			}
		case "tool", "function":
			c.add(ToolResult, content.text())
		case "system", "developer":
			c.System += content.text() + "\n"
		}
	}
	for _, t := range body.at("tools").list() {
		if name := t.at("function", "name").str(); name != "" {
			c.Tools = append(c.Tools, Tool{Name: name, Params: t.at("function", "parameters", "properties").keys()})
		}
	}
	return c
}

func (chat) failed(f Failure) any { return responses{}.failed(f) }

func (chat) usage() object {
	return object{"prompt_tokens": inputTokens, "completion_tokens": outputTokens, "total_tokens": inputTokens +
		outputTokens}
}

func (chat) called(id string, call Call) object {
	return object{"index": 0, "id": "call_" + id, "type": "function", "function": object{"name": call.Tool.Name,
		"arguments": arguments(call)}}
}

func (d chat) whole(c Conversation, id string, text words, call *Call) any {
	message, reason := object{"role": "assistant", "content": text}, "stop"
	if call != nil {
		message["tool_calls"], reason = []any{d.called(id, *call)}, "tool_calls"
		if text == "" {
			message["content"] = nil
		}
	}
	choice := object{"index": 0, "message": message, "finish_reason": reason}
	return object{"id": "chatcmpl-" + id, "object": "chat.completion", "created": time.Now().Unix(), "model": c.Model,
		"choices": []any{choice}, "usage": d.usage()}
}

func (d chat) stream(out *events, c Conversation, id string) answerStream {
	return &chatStream{d, out, c, id, "stop"}
}

type chatStream struct {
	chat

	out    *events
	c      Conversation
	id     string
	reason string // finish_reason
}

func (s *chatStream) chunk(choices []any, usage any) {
	chunk := object{"id": "chatcmpl-" + s.id, "object": "chat.completion.chunk", "created": time.Now().Unix(),
		"model": s.c.Model, "choices": choices}
	if usage != nil {
		chunk["usage"] = usage
	}
	s.out.send("", chunk)
}

func (s *chatStream) delta(delta object, reason any) {
	s.chunk([]any{object{"index": 0, "delta": delta, "finish_reason": reason}}, nil)
}

func (s *chatStream) open()                { s.delta(object{"role": "assistant", "content": ""}, nil) }
func (s *chatStream) writeText(text words) { s.delta(object{"content": text}, nil) }

func (s *chatStream) writeCall(call Call) {
	s.delta(object{"tool_calls": []any{s.called(s.id, call)}}, nil)
	s.reason = "tool_calls"
}

func (s *chatStream) close() {
	s.delta(object{}, s.reason)
	if s.c.usage {
		s.chunk([]any{}, s.usage())
	}
	s.out.raw("data: [DONE]\n\n")
}
