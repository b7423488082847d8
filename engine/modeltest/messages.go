package modeltest

// messages is the protocol of Anthropic's Messages.
type messages struct{}

func (messages) read(body value, _ string) Conversation {
	c := Conversation{API: Messages, Model: body.at("model").str(), System: body.at("system").text(),
		Stream: body.at("stream").isTrue()}
	for _, at := range [][]string{{"output_config", "format", "schema"}, {"output_format", "schema"}} {
		if schema := body.at(at...).raw(); schema != nil {
			c.Schema = schema
		}
	}
	for _, m := range body.at("messages").list() {
		blocks := m.at("content").list()
		if text := m.at("content").str(); text != "" {
			blocks = []value{{object{"type": "text", "text": text}}}
		}
		for _, b := range blocks {
			switch role, kind := m.at("role").str(), b.at("type").str(); {
			case kind == "tool_result":
				c.add(ToolResult, b.at("content").text())
			case kind == "tool_use":
				c.add(ToolCall, b.at("name").str())
			case kind == "text" && role == "user":
				c.addUser(b.at("text").str())
			case kind == "text" && role == "assistant":
				c.add(Assistant, b.at("text").str())
			}
		}
	}
	for _, t := range body.at("tools").list() {
		if name := t.at("name").str(); name != "" {
			c.Tools = append(c.Tools, Tool{Name: name, Params: t.at("input_schema", "properties").keys()})
		}
	}
	return c
}

func (messages) failed(f Failure) any {
	kind, ok := map[int]string{
		400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
		413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
	}[f.Status]
	if !ok {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": words(f.Message)}}
}

func (messages) message(c Conversation, id string, content []any, reason any) object {
	return object{
		"id": "msg_" + id, "type": "message", "role": "assistant", "model": c.Model, "content": content,
		"stop_reason": reason, "stop_sequence": nil,
		"usage": object{"input_tokens": inputTokens, "output_tokens": outputTokens, "cache_creation_input_tokens": 0,
			"cache_read_input_tokens": 0},
	}
}

func (messages) called(id string, call Call, input any) object {
	return object{"type": "tool_use", "id": "toolu_" + id, "name": call.Tool.Name, "input": input}
}

func (d messages) whole(c Conversation, id string, text words, call *Call) any {
	content, reason := []any{}, "end_turn"
	if text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	if call != nil {
		input := call.Args
		if input == nil {
			input = object{}
		}
		content, reason = append(content, d.called(id, *call, input)), "tool_use"
	}
	return d.message(c, id, content, reason)
}

func (d messages) stream(out *events, c Conversation, id string) answerStream {
	return &messagesStream{d, out, c, id, 0, false, "end_turn"}
}

type messagesStream struct {
	messages

	out    *events
	c      Conversation
	id     string
	index  int  // of the block
	inText bool // a text block is open
	reason string
}

func (s *messagesStream) event(name string, more object) {
	more["type"] = name
	s.out.send(name, more)
}

func (s *messagesStream) open() {
	s.event("message_start", object{"message": s.message(s.c, s.id, []any{}, nil)})
}

func (s *messagesStream) writeText(text words) {
	if !s.inText {
		s.event("content_block_start", object{"index": s.index, "content_block": object{"type": "text", "text": ""}})
		s.inText = true
	}
	s.event("content_block_delta", object{"index": s.index, "delta": object{"type": "text_delta", "text": text}})
}

func (s *messagesStream) endText() {
	if s.inText {
		s.event("content_block_stop", object{"index": s.index})
		s.index++
		s.inText = false
	}
}

func (s *messagesStream) writeCall(call Call) {
	s.endText()
	s.event("content_block_start", object{"index": s.index, "content_block": s.called(s.id, call, object{})})
	s.event("content_block_delta", object{"index": s.index, "delta": object{"type": "input_json_delta",
		"partial_json": arguments(call)}})
	s.event("content_block_stop", object{"index": s.index})
	s.reason = "tool_use"
}

func (s *messagesStream) close() {
	s.endText()
	s.event("message_delta", object{"delta": object{"stop_reason": s.reason, "stop_sequence": nil},
		"usage": object{"output_tokens": outputTokens}})
	s.event("message_stop", object{})
}
