package modeltest

import (
	"encoding/json"
	"strings"
	"time"
)

// responses is the protocol of OpenAI's Responses.
type responses struct{}

func (responses) read(body value, _ string) Conversation {
	c := Conversation{
		API: Responses, Model: body.at("model").str(), System: body.at("instructions").str(),
		Stream: body.at("stream").isTrue(), Schema: body.at("text", "format", "schema").raw(),
	}
	if c.Schema == nil && body.at("text", "format", "type").str() == "json_object" {
		c.Schema = json.RawMessage(`{}`)
	}
	c.addUser(body.at("input").str())
	for _, item := range body.at("input").list() {
		kind, role := item.at("type").str(), item.at("role").str()
		switch {
		case role == "user":
			for _, text := range parts(item.at("content")) {
				c.addUser(text)
			}
		case role == "assistant":
			c.add(Assistant, item.at("content").text())
		case role == "system" || role == "developer":
			c.System += "\n" + item.at("content").text()
		case strings.HasSuffix(kind, "_call_output"):
			c.add(ToolResult, item.at("output").text())
		case strings.HasSuffix(kind, "_call"):
			c.add(ToolCall, item.at("name").str())
		}
	}
	c.addTools(body.at("tools"))
	return c
}

// addTools adds tools, also from a namespace.
func (c *Conversation) addTools(tools value) {
	for _, t := range tools.list() {
		if in := t.at("tools"); len(in.list()) > 0 {
			c.addTools(in)
			continue
		}
		kind := t.at("type").str()
		if name := t.at("name").str(); name != "" && (kind == "function" || kind == "custom") {
			c.Tools = append(c.Tools, Tool{Name: name, Params: t.at("parameters", "properties").keys(),
				Custom: kind == "custom"})
		}
	}
}

func parts(content value) []string {
	if s := content.str(); s != "" {
		return []string{s}
	}
	var all []string
	for _, part := range content.list() {
		if s := part.at("text").str(); s != "" {
			all = append(all, s)
		} else if s := part.str(); s != "" {
			all = append(all, s)
		}
	}
	return all
}

func (responses) failed(f Failure) any {
	return object{"error": object{"message": words(f.Message), "type": "modeltest_error", "code": "modeltest",
		"param": nil}}
}

// response returns the response object, which most events of the stream carry.
func (responses) response(c Conversation, id, status string, output []any) object {
	return object{
		"id": "resp_" + id, "object": "response", "created_at": time.Now().Unix(), "status": status, "model": c.Model,
		"output": output,
		"error":  nil, "incomplete_details": nil, "parallel_tool_calls": false, "tools": []any{},
		"usage": object{
			"input_tokens": inputTokens, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": outputTokens, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": inputTokens + outputTokens,
		},
	}
}

func (responses) message(id, status string, content []any) object {
	return object{"type": "message", "id": "msg_" + id, "role": "assistant", "status": status, "content": content}
}

func (responses) part(text words) object {
	return object{"type": "output_text", "text": text, "annotations": []any{}}
}

func (responses) called(id string, call Call) object {
	if call.Tool.Custom {
		return object{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": "call_" + id, "name": call.Tool.Name,
			"input": words(call.Text), "status": "completed"}
	}
	return object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": call.Tool.Name,
		"arguments": arguments(call), "status": "completed"}
}

func (d responses) whole(c Conversation, id string, text words, call *Call) any {
	output := []any{d.message(id, "completed", []any{d.part(text)})}
	if call != nil {
		if text == "" {
			output = nil
		}
		output = append(output, d.called(id, *call))
	}
	return d.response(c, id, "completed", output)
}

func (d responses) stream(out *events, c Conversation, id string) answerStream {
	return &responsesStream{d, out, c, id, "", nil, 0}
}

type responsesStream struct {
	responses

	out    *events
	c      Conversation
	id     string
	text   words
	output []any
	seq    int
}

func (r *responsesStream) event(name string, more object) {
	more["type"], more["sequence_number"] = name, r.seq
	r.seq++
	r.out.send(name, more)
}

func (r *responsesStream) open() {
	r.event("response.created", object{"response": r.response(r.c, r.id, "in_progress", []any{})})
}

func (r *responsesStream) addPlace(more object) object {
	more["item_id"], more["output_index"], more["content_index"] = "msg_"+r.id, 0, 0
	return more
}

func (r *responsesStream) writeText(text words) {
	if r.text == "" {
		r.event("response.output_item.added", object{"output_index": 0, "item": r.message(r.id, "in_progress",
			[]any{})})
		r.event("response.content_part.added", r.addPlace(object{"part": r.part("")}))
	}
	r.text += text
	r.event("response.output_text.delta", r.addPlace(object{"delta": text}))
}

func (r *responsesStream) endText() {
	if r.text == "" {
		return
	}
	item := r.message(r.id, "completed", []any{r.part(r.text)})
	r.event("response.output_text.done", r.addPlace(object{"text": r.text}))
	r.event("response.content_part.done", r.addPlace(object{"part": r.part(r.text)}))
	r.event("response.output_item.done", object{"output_index": 0, "item": item})
	r.output = append(r.output, item)
}

func (r *responsesStream) writeCall(call Call) {
	r.endText()
	r.text = ""
	item, at := r.called(r.id, call), len(r.output)
	r.event("response.output_item.added", object{"output_index": at, "item": item})
	r.event("response.output_item.done", object{"output_index": at, "item": item})
	r.output = append(r.output, item)
}

func (r *responsesStream) close() {
	r.endText()
	r.event("response.completed", object{"response": r.response(r.c, r.id, "completed", r.output)})
}
