package slacktest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Response is the app's response to an interaction.
type Response struct {
	// Status is the HTTP status; 200 over Socket Mode.
	Status int
	// Body is the content of the acknowledgement.
	Body []byte
}

// Errors returns the errors at the inputs of a modal, which stays open.
func (r *Response) Errors() map[string]string {
	var answer struct {
		Action string            `json:"response_action"`
		Errors map[string]string `json:"errors"`
	}
	if json.Unmarshal(r.Body, &answer) != nil || answer.Action != "errors" {
		return nil
	}
	return answer.Errors
}

// Updated returns the text of the modal that replaces the submitted modal, or an empty string.
func (r *Response) Updated() string {
	var answer struct {
		Action string `json:"response_action"`
		View   View   `json:"view"`
	}
	if json.Unmarshal(r.Body, &answer) != nil || answer.Action != "update" || answer.View.check() != "" {
		return ""
	}
	return answer.View.Shown()
}

// ErrLate: the app has not acknowledged the interaction in time. Slack shows an error to the person.
var ErrLate = errors.New("slacktest: no acknowledgement in time")

// Press presses a button of a message.
func (s *Slack) Press(person string, m Message, action string) (*Response, error) {
	b := m.Button(action)
	if b == nil {
		return nil, fmt.Errorf("slacktest: the message has the buttons %v", m.Buttons())
	}
	return s.PressValue(person, m, action, b.Value)
}

// PressValue presses a button that a message had earlier.
func (s *Slack) PressValue(person string, m Message, action, value string) (*Response, error) {
	return s.interact(s.Pressed(person, m, action, value))
}

// Pressed is the payload of a press.
func (s *Slack) Pressed(person string, m Message, action, value string) map[string]any {
	return object{"type": "block_actions", "api_app_id": "A1", "token": "legacy", "trigger_id": s.trigger(person),
		"team": object{"id": Team, "domain": "test"}, "enterprise": nil, "is_enterprise_install": false,
		"user":      object{"id": User(person), "username": person, "name": person, "team_id": Team},
		"container": object{"type": "message", "message_ts": m.TS, "channel_id": m.Channel, "is_ephemeral": false},
		"channel":   object{"id": m.Channel, "name": "test"},
		"message":   object{"type": "message", "ts": m.TS, "text": m.Text, "bot_id": "BBOT"},
		"state":     object{"values": object{}}, "response_url": s.URL + "response",
		"actions": []object{{"type": "button", "action_id": action, "block_id": "b1", "value": value,
			"text": object{"type": "plain_text", "text": action}, "action_ts": "1700000000.1"}}}
}

// trigger returns a new id that opens a modal.
func (s *Slack) trigger(person string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.next() + ".trigger"
	s.triggers[id] = person
	return id
}

// Submit submits the person's open modal, with texts by label. For a menu, the text is an
// option's label; several labels are separated by line breaks. The modal closes unless the
// response has errors.
func (s *Slack) Submit(person string, values map[string]string) (*Response, error) {
	v, ok := s.Modal(person)
	if !ok {
		return nil, errors.New("slacktest: no modal is open")
	}
	state, err := v.fill(values)
	if err != nil {
		return nil, err
	}
	r, err := s.interact(Submission(person, v.raw, state))
	if err == nil && r.Errors() == nil {
		s.mu.Lock()
		delete(s.modals, person)
		s.mu.Unlock()
	}
	return r, err
}

// Submission is the payload of a submitted modal.
func Submission(person string, view json.RawMessage, state any) map[string]any {
	var all object
	_ = json.Unmarshal(view, &all) // it was checked when it was opened
	all["state"] = object{"values": state}
	return object{"type": "view_submission", "api_app_id": "A1", "token": "legacy", "trigger_id": "t",
		"team": object{"id": Team, "domain": "test"}, "enterprise": nil, "is_enterprise_install": false,
		"user": object{"id": User(person), "username": person, "name": person, "team_id": Team},
		"view": all, "response_urls": []object{}}
}

// fill returns the state of the modal's inputs.
func (v *View) fill(values map[string]string) (map[string]map[string]any, error) {
	state := make(map[string]map[string]any)
	left := len(values)
	for i := range v.Blocks {
		b := &v.Blocks[i]
		if b.Type != "input" {
			continue
		}
		value, ok := values[b.Label.Shown()]
		if ok {
			left--
		} else if !b.Optional {
			return nil, fmt.Errorf("slacktest: %q is required", b.Label.Shown())
		}
		entered, err := b.Element.enter(value)
		if err != nil {
			return nil, fmt.Errorf("slacktest: %q: %w", b.Label.Shown(), err)
		}
		state[b.ID] = map[string]any{b.Element.Action: entered}
	}
	if left > 0 {
		return nil, fmt.Errorf("slacktest: the modal has other inputs: %s", v.Shown())
	}
	return state, nil
}

// enter returns the state of one control.
func (e *Element) enter(value string) (object, error) {
	entered := object{"type": e.Type}
	var chosen []object
	if len(e.Options) > 0 && value != "" {
		for _, text := range bytes.Split([]byte(value), []byte("\n")) {
			at := slices.IndexFunc(e.Options, func(o Option) bool { return o.Text.Shown() == string(text) })
			if at < 0 {
				return nil, fmt.Errorf("no option is %q", text)
			}
			chosen = append(chosen, object{"text": e.Options[at].Text, "value": e.Options[at].Value})
		}
	}
	switch e.Type {
	case "static_select":
		entered["selected_option"] = nil
		if len(chosen) > 0 {
			entered["selected_option"] = chosen[0]
		}
	case "multi_static_select":
		entered["selected_options"] = append([]object{}, chosen...)
	case "datepicker":
		entered["selected_date"] = orNil(value)
	default:
		entered["value"] = orNil(value)
	}
	return entered, nil
}

func orNil(value string) any {
	if value == "" {
		return nil
	}
	return value
}

// Sign returns the headers of a request that Slack has signed at this time.
func Sign(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	return http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Slack-Request-Timestamp": {stamp},
		"X-Slack-Signature": {"v0=" + hex.EncodeToString(mac.Sum(nil))}}
}

// Encode returns the body of a request with the payload.
func Encode(payload map[string]any) ([]byte, error) {
	raw, err := json.Marshal(payload)
	return []byte(url.Values{"payload": {string(raw)}}.Encode()), err
}

// interact sends an interaction over Socket Mode if it is connected, else to the Request URL.
func (s *Slack) interact(payload map[string]any) (*Response, error) {
	s.mu.Lock()
	k, address := s.socket, s.address
	s.mu.Unlock()
	if k != nil {
		return s.overSocket(k, payload)
	}
	body, err := Encode(payload)
	if err != nil {
		return nil, err
	}
	return Send(address, Sign(Secret, time.Now(), body), body)
}

// Send sends a request as Slack does, and waits at most 30 s.
func Send(address string, header http.Header, body []byte) (*Response, error) {
	r, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body)) //nolint:noctx // the client has a limit
	if err != nil {
		return nil, err
	}
	r.Header = header
	res, err := (&http.Client{Timeout: timeout}).Do(r)
	if err != nil {
		return nil, errors.Join(ErrLate, err)
	}
	defer func() { _ = res.Body.Close() }() // the body was read
	got, err := io.ReadAll(res.Body)
	return &Response{res.StatusCode, got}, err
}

func (s *Slack) overSocket(k *socket, payload object) (*Response, error) {
	s.mu.Lock()
	envelope := s.next()
	s.mu.Unlock()
	ack := make(chan json.RawMessage, 1)
	k.mu.Lock()
	k.waiting[envelope] = ack
	k.mu.Unlock()
	if err := k.write(object{"envelope_id": envelope, "type": "interactive", "payload": payload,
		"accepts_response_payload": true}); err != nil {
		return nil, err
	}
	select {
	case body := <-ack:
		return &Response{http.StatusOK, body}, nil
	case <-time.After(timeout):
		return nil, ErrLate
	}
}
