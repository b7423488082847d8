package modelagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/interlude-go/interlude/engine/modeltest"
)

type Entry struct {
	Role modeltest.Role `json:"role"`
	Text string         `json:"text"` // for a ToolCall its command
	ID   string         `json:"id,omitempty"`
}

type Question struct {
	API     modeltest.API
	URL     string // of the server
	Session []Entry
	Stream  bool
	NoTools bool
	Schema  map[string]any // the answer must keep it; nil for any text
}

// Answer is the model's response.
type Answer struct {
	Text   string
	Pieces int    // of the text
	Call   *Entry // or nil
	Ended  bool   // the answer came to its end
}

// APIError is an answer that is an error.
type APIError struct {
	Status  int
	Message string
}

func (e *APIError) Error() string { return fmt.Sprintf("API error %d: %s", e.Status, e.Message) }

type object = map[string]any

type protocol interface {
	path(stream bool) string
	request(q Question) object
	// hear adds an event of a stream, or a whole response, to the answer.
	hear(event object, a *Answer)
}

var protocols = map[modeltest.API]protocol{modeltest.Responses: responses{}, modeltest.Chat: chat{},
	modeltest.Messages: messages{}, modeltest.Gemini: gemini{}}

const tool = "exec_command"

var parameters = object{"type": "object", "properties": object{"cmd": object{"type": "string"}},
	"required": []string{"cmd"}}

// Ask asks the model once.
func Ask(ctx context.Context, q Question) (Answer, error) {
	p := protocols[q.API]
	body, err := json.Marshal(p.request(q))
	if err != nil {
		return Answer{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, q.URL+p.path(q.Stream), bytes.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("User-Agent", "modelagent")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, failed(resp)
	}
	var a Answer
	if !q.Stream {
		var whole object
		if err := json.NewDecoder(resp.Body).Decode(&whole); err != nil {
			return a, fmt.Errorf("response: %w", err)
		}
		p.hear(whole, &a)
		return a, nil
	}
	return a, streamed(resp.Body, p, &a)
}

func failed(resp *http.Response) error {
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		return fmt.Errorf("error response: %w", err)
	}
	return &APIError{resp.StatusCode, body.Error.Message}
}

// ErrEarly says that the stream ended before the answer did.
var ErrEarly = errors.New("the stream ended before the answer did")

func streamed(body io.Reader, p protocol, a *Answer) error {
	for lines := bufio.NewReader(body); ; {
		line, err := lines.ReadString('\n')
		if data, ok := strings.CutPrefix(line, "data: "); ok && err == nil && strings.TrimSpace(data) != "[DONE]" {
			var event object
			if err := json.Unmarshal([]byte(data), &event); err != nil {
				return fmt.Errorf("event: %w", err)
			}
			p.hear(event, a)
		}
		switch {
		case errors.Is(err, io.EOF) && a.Ended:
			return nil
		case errors.Is(err, io.EOF):
			return ErrEarly
		case err != nil:
			return err
		}
	}
}

func (a *Answer) say(text string) {
	if text != "" {
		a.Text += text
		a.Pieces++
	}
}

func (a *Answer) call(id string, args []byte) {
	var with struct {
		Cmd string `json:"cmd"`
	}
	if json.Unmarshal(args, &with) == nil {
		a.Call = &Entry{Role: modeltest.ToolCall, Text: with.Cmd, ID: id}
	}
}

// dig follows names and numbers into JSON; nil when there is nothing.
func dig(v any, keys ...any) any {
	for _, k := range keys {
		switch k := k.(type) {
		case string:
			o, _ := v.(object)
			v = o[k]
		case int:
			l, _ := v.([]any)
			if k >= len(l) {
				return nil
			}
			v = l[k]
		}
	}
	return v
}

func text(v any, keys ...any) string {
	s, _ := dig(v, keys...).(string)
	return s
}

func list(v any, keys ...any) []any {
	l, _ := dig(v, keys...).([]any)
	return l
}
