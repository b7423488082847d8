package modeltest

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

// gemini is the protocol of Google's Gemini.
type gemini struct{}

func (gemini) read(body value, at string) Conversation {
	model, method, _ := strings.Cut(path.Base(at), ":")
	c := Conversation{API: Gemini, Model: model, System: body.at("systemInstruction", "parts").text(),
		Stream: method == "streamGenerateContent"}
	config := body.at("generationConfig")
	for _, key := range []string{"responseJsonSchema", "responseSchema"} {
		if schema := config.at(key).raw(); schema != nil {
			c.Schema = schema
		}
	}
	if c.Schema == nil && config.at("responseMimeType").str() == "application/json" {
		c.Schema = json.RawMessage(`{}`)
	}
	for _, content := range body.at("contents").list() {
		for _, part := range content.at("parts").list() {
			text := part.at("text").str()
			switch response := part.at("functionResponse"); {
			case response.exists():
				c.add(ToolResult, response.at("response").text())
			case part.at("functionCall").exists():
				c.add(ToolCall, part.at("functionCall", "name").str())
			case content.at("role").str() == "model" && !part.at("thought").isTrue():
				c.add(Assistant, text)
			case content.at("role").str() != "model":
				c.addUser(text)
			}
		}
	}
	for _, t := range body.at("tools").list() {
		for _, f := range t.at("functionDeclarations").list() {
			params := append(f.at("parameters", "properties").keys(), f.at("parametersJsonSchema",
				"properties").keys()...)
			if name := f.at("name").str(); name != "" {
				c.Tools = append(c.Tools, Tool{Name: name, Params: params})
			}
		}
	}
	return c
}

func (gemini) failed(f Failure) any {
	status, ok := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", http.StatusServiceUnavailable: "UNAVAILABLE",
	}[f.Status]
	if !ok {
		status = "INTERNAL"
	}
	return object{"error": object{"code": f.Status, "message": words(f.Message), "status": status}}
}

// chunk returns the object for a piece of an answer, or for the whole answer.
func (gemini) chunk(c Conversation, id string, parts []any, reason any) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if reason != nil {
		candidate["finishReason"] = reason
	}
	return object{
		"candidates": []any{candidate}, "modelVersion": c.Model, "responseId": id,
		"usageMetadata": object{"promptTokenCount": inputTokens, "candidatesTokenCount": outputTokens,
			"totalTokenCount": inputTokens + outputTokens},
	}
}

func (gemini) called(id string, call Call) object {
	args := call.Args
	if args == nil {
		args = object{}
	}
	return object{"functionCall": object{"id": "call_" + id, "name": call.Tool.Name, "args": args}}
}

func (d gemini) whole(c Conversation, id string, text words, call *Call) any {
	parts := []any{object{"text": text}}
	if call != nil {
		parts = append(parts, d.called(id, *call))
	}
	return d.chunk(c, id, parts, "STOP")
}

func (d gemini) stream(out *events, c Conversation, id string) answerStream {
	return &geminiStream{d, out, c, id, nil}
}

type geminiStream struct {
	gemini

	out  *events
	c    Conversation
	id   string
	last []any // the parts for the last chunk
}

func (*geminiStream) open() {} // Gemini sends nothing before the first text
func (s *geminiStream) writeText(text words) {
	s.out.send("", s.chunk(s.c, s.id, []any{object{"text": text}}, nil))
}
func (s *geminiStream) writeCall(call Call) { s.last = []any{s.called(s.id, call)} }

func (s *geminiStream) close() {
	if s.last == nil {
		s.last = []any{object{"text": ""}}
	}
	s.out.send("", s.chunk(s.c, s.id, s.last, "STOP"))
}
