// Package slacktest is a Slack workspace for tests: the methods of the API that host/slack needs,
// people who press buttons and submit modals, signed requests, and Socket Mode. It refuses what
// Slack would refuse, such as long texts, and texts with unescaped markup.
//
//	s := slacktest.New(t)
//	// Config.API: s.URL, Config.Token: slacktest.Token, …
//	s.Deliver(server.URL + "/slack")
//	r, err := s.Press("ada", s.Messages()[0], "approve")
package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// The secrets of the workspace's app, and the workspace.
const (
	Token    = "xoxb-test"
	AppToken = "xapp-test"
	Secret   = "8f742231b10e8888abcd99yyyzzz85a5" // as in Slack's documentation
	Team     = "T0001"
)

// Message is a message of the app as it is shown now.
type Message struct {
	Channel string
	TS      string
	// Thread is the message that began the thread of this message; empty: none.
	Thread string
	// To is the only person who sees the message; empty: everyone in the channel.
	To     string
	Text   string
	Blocks []Block
	// Key is the key in the metadata of a question's message.
	Key string
	// Edits counts how often it was rewritten.
	Edits int

	kind string // the event type of its metadata
}

// Slack is a workspace with one app. It is safe for concurrent use.
type Slack struct {
	// URL is the address of the API.
	URL string

	server *httptest.Server
	ready  chan struct{} // is closed when Socket Mode is connected

	mu       sync.Mutex
	address  string            // guarded by mu; the Request URL
	socket   *socket           // guarded by mu; nil: not connected
	messages []*Message        // guarded by mu
	triggers map[string]string // guarded by mu; person by trigger
	modals   map[string]View   // guarded by mu; the open modal of each person
	calls    map[string]int    // guarded by mu; by method
	fails    func(method string) (code string, lost bool)
	count    int           // guarded by mu; of messages and triggers
	changed  chan struct{} // guarded by mu; is closed after the next call of the API
}

// New starts a workspace, which ends with the test.
func New(tb testing.TB) *Slack {
	tb.Helper()
	s := &Slack{triggers: make(map[string]string), modals: make(map[string]View), calls: make(map[string]int),
		ready: make(chan struct{}), changed: make(chan struct{})}
	s.server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.URL = "http://" + s.server.Listener.Addr().String() + "/api/"
	s.server.Start() // the handler reads both fields
	tb.Cleanup(func() {
		s.Drop()
		s.server.Close()
	})
	return s
}

// User is the id of a person.
func User(person string) string { return "U" + strings.ToUpper(person) }

// Deliver sets the Request URL of the app's interactivity.
func (s *Slack) Deliver(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// Fail makes calls of the API fail. With a code, the call returns this error. If lost, the call
// has its effect, but the connection ends without a response. If f is nil, no call fails.
func (s *Slack) Fail(f func(method string) (code string, lost bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = f
}

// Messages returns the messages in the order of their posting.
func (s *Slack) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Message, len(s.messages))
	for i, m := range s.messages {
		all[i] = *m
	}
	return all
}

// Questions returns the messages about questions that everyone in their channels sees.
func (s *Slack) Questions() []Message {
	return slices.DeleteFunc(s.Messages(), func(m Message) bool { return m.Thread != "" || m.To != "" })
}

// Said returns the texts that only this person saw.
func (s *Slack) Said(person string) (all []string) {
	for _, m := range s.Messages() {
		if m.To == User(person) {
			all = append(all, m.Text)
		}
	}
	return all
}

// Modal returns the modal that the person has open.
func (s *Slack) Modal(person string) (View, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.modals[person]
	return v, ok
}

// Calls returns how often a method of the API was called.
func (s *Slack) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Delete deletes a message, as a person can.
func (s *Slack) Delete(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(o *Message) bool { return o.TS == m.TS })
}

// Await waits until the condition holds, which it checks after each call of the API.
func (s *Slack) Await(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

type object = map[string]any

// call is a call of the API.
type call struct {
	method string
	token  string
	values map[string]string
}

func (s *Slack) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/socket" {
		s.serveSocket(w, r)
		return
	}
	c, err := readCall(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	fails := s.fails
	s.mu.Unlock()
	code, lost := "", false
	if fails != nil {
		code, lost = fails(c.method)
	}
	var answer object
	if code == "" {
		answer, code = s.execute(c)
	}
	s.mu.Lock()
	s.calls[c.method]++ // once its effect can be seen
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler)
	}
	if code == "ratelimited" {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	if code != "" {
		answer = object{"error": code}
	}
	answer["ok"] = code == ""
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer)
}

// readCall reads the parameters from a form or from JSON, and the token from either or the header.
func readCall(r *http.Request) (call, error) {
	c := call{method: strings.TrimPrefix(r.URL.Path, "/api/"), values: make(map[string]string)}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil && r.ContentLength > 0 {
			return c, err
		}
		for name, raw := range body {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			c.values[name] = text
		}
	} else {
		if err := r.ParseForm(); err != nil {
			return c, err
		}
		for name := range r.Form {
			c.values[name] = r.Form.Get(name)
		}
	}
	c.token = c.values["token"]
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		c.token = token
	}
	return c, nil
}

// execute executes a call. It returns the code of an error, or the answer.
func (s *Slack) execute(c call) (answer object, code string) {
	want := Token
	if c.method == "apps.connections.open" {
		want = AppToken
	}
	if c.token != want {
		return nil, "invalid_auth"
	}
	switch c.method {
	case "auth.test":
		return object{"team_id": Team, "user_id": "UBOT", "bot_id": "BBOT", "url": s.URL, "user": "bot"}, ""
	case "chat.postMessage", "chat.postEphemeral":
		return s.post(c)
	case "chat.update":
		return s.update(c)
	case "views.open":
		return s.openView(c)
	case "conversations.history":
		return s.history(c)
	case "apps.connections.open":
		return object{"url": "ws" + strings.TrimPrefix(s.server.URL, "http") + "/socket"}, ""
	}
	return nil, "unknown_method"
}

func (s *Slack) next() string {
	s.count++
	return fmt.Sprintf("%d.%06d", 1_700_000_000+s.count, s.count)
}

// channelOf returns the channel of a place; for a person, the channel of direct messages.
func channelOf(place string) (channel string, ok bool) {
	switch {
	case len(place) < 2:
		return "", false
	case place[0] == 'U':
		return "D" + place[1:], true
	}
	return place, place[0] == 'C' || place[0] == 'D' || place[0] == 'G'
}

func (s *Slack) post(c call) (answer object, code string) {
	m := Message{Thread: c.values["thread_ts"], Text: c.values["text"], To: c.values["user"]}
	var ok bool
	if m.Channel, ok = channelOf(c.values["channel"]); !ok {
		return nil, "channel_not_found"
	}
	if (c.method == "chat.postEphemeral") != (m.To != "") {
		return nil, "invalid_arguments"
	}
	if code := m.content(c); code != "" {
		return nil, code
	}
	var metadata struct {
		Type    string               `json:"event_type"`
		Payload struct{ Key string } `json:"event_payload"`
	}
	if raw := c.values["metadata"]; raw != "" && json.Unmarshal([]byte(raw), &metadata) != nil {
		return nil, "invalid_metadata_format"
	}
	m.Key, m.kind = metadata.Payload.Key, metadata.Type
	s.mu.Lock()
	defer s.mu.Unlock()
	m.TS = s.next()
	s.messages = append(s.messages, &m)
	if m.To != "" {
		return object{"message_ts": m.TS}, ""
	}
	return object{"channel": m.Channel, "ts": m.TS, "message": object{"text": m.Text, "ts": m.TS}}, ""
}

// content reads and checks the content of a message.
func (m *Message) content(c call) (code string) {
	m.Text = c.values["text"]
	if !escaped(m.Text) || c.values["parse"] == "full" {
		return "unescaped_text" // Slack would resolve mentions and links in it
	}
	if len(m.Text) > 4000 {
		return "msg_too_long"
	}
	m.Blocks = nil
	if raw := c.values["blocks"]; raw != "" {
		if json.Unmarshal([]byte(raw), &m.Blocks) != nil {
			return "invalid_blocks_format"
		}
	}
	if m.Text == "" && len(m.Blocks) == 0 {
		return "no_text"
	}
	return checkBlocks(m.Blocks, 50)
}

func (s *Slack) update(c call) (answer object, code string) {
	var m Message
	if code := m.content(c); code != "" {
		return nil, code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.messages, func(o *Message) bool {
		return o.Channel == c.values["channel"] && o.TS == c.values["ts"] && o.To == ""
	})
	if at < 0 {
		return nil, "message_not_found"
	}
	old := s.messages[at]
	old.Text, old.Blocks = m.Text, m.Blocks
	old.Edits++
	return object{"channel": old.Channel, "ts": old.TS, "text": old.Text}, ""
}

func (s *Slack) openView(c call) (answer object, code string) {
	var v View
	if json.Unmarshal([]byte(c.values["view"]), &v) != nil {
		return nil, "invalid_arguments"
	}
	if code := v.check(); code != "" {
		return nil, code
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	person, ok := s.triggers[c.values["trigger_id"]]
	if !ok {
		return nil, "invalid_trigger_id"
	}
	delete(s.triggers, c.values["trigger_id"]) // Slack accepts a trigger once, within 3 s
	v.ID = "V" + strconv.Itoa(len(s.modals)+1)
	s.modals[person] = v
	return object{"view": object{"id": v.ID}}, ""
}

func (s *Slack) history(c call) (answer object, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.messages, func(m *Message) bool { return m.Channel == c.values["channel"] }) {
		return nil, "channel_not_found"
	}
	var all []object
	for _, m := range slices.Backward(s.messages) {
		if m.Channel == c.values["channel"] && m.To == "" && m.Thread == "" {
			all = append(all, object{"type": "message", "ts": m.TS, "text": m.Text, "metadata": object{
				"event_type": m.kind, "event_payload": object{"key": m.Key}}})
		}
	}
	return object{"messages": all}, ""
}

// socket is a connection of Socket Mode.
type socket struct {
	conn *websocket.Conn

	mu      sync.Mutex
	waiting map[string]chan json.RawMessage // guarded by mu; by envelope
}

func (s *Slack) serveSocket(w http.ResponseWriter, r *http.Request) {
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	k := &socket{conn: conn, waiting: make(map[string]chan json.RawMessage)}
	s.mu.Lock()
	s.socket = k
	first := s.ready
	select {
	case <-first:
	default:
		close(first)
	}
	over := make(chan struct{})
	defer close(over)
	go k.ping(over)
	err = k.write(object{"type": "hello", "num_connections": 1, "connection_info": object{"app_id": "A1"}})
	s.mu.Unlock()
	for err == nil {
		var ack struct {
			Envelope string          `json:"envelope_id"`
			Payload  json.RawMessage `json:"payload"`
		}
		if err = conn.ReadJSON(&ack); err == nil {
			k.mu.Lock()
			if c := k.waiting[ack.Envelope]; c != nil {
				c <- ack.Payload
				delete(k.waiting, ack.Envelope)
			}
			k.mu.Unlock()
		}
	}
	_ = conn.Close()
}

// ping sends pings, as Slack does, until the connection is over.
func (k *socket) ping(over <-chan struct{}) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			_ = k.conn.WriteControl(websocket.PingMessage, nil, now.Add(timeout)) // reading notices the end
		case <-over:
			return
		}
	}
}

func (k *socket) write(message object) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn.WriteJSON(message)
}

// Connected is closed when Socket Mode is connected, again after each Drop.
func (s *Slack) Connected() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// Drop asks the connection of Socket Mode to reconnect, as Slack does every few hours.
func (s *Slack) Drop() {
	s.mu.Lock()
	k := s.socket
	s.socket = nil
	if k != nil {
		s.ready = make(chan struct{})
	}
	s.mu.Unlock()
	if k != nil {
		_ = k.write(object{"type": "disconnect", "reason": "refresh_requested"})
	}
}

// timeout is how long this server waits for an acknowledgement. Slack waits for 3 s, which a busy
// machine may need.
const timeout = 30 * time.Second
