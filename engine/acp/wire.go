package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine/process"
)

var errEnded = errors.New("acp: the agent has ended")

var errUnread = fmt.Errorf("acp: the agent does not read its input: more than %d messages wait for it", maxUnread/2)

// errProtocol: after an agent's message the host cannot know which call it answered.
type errProtocol struct{ what string }

func (e errProtocol) Error() string { return "acp: the agent violates the protocol: " + e.what }

// JSON-RPC error codes of the protocol.
const (
	codeInternal       = -32603
	codeMethodNotFound = -32601
	codeAuthRequired   = -32000
)

type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// failure is an answer's error, or nil. An error that is a plain string is accepted.
func (e envelope) failure() *sdk.RequestError {
	if len(e.Error) == 0 || string(e.Error) == "null" {
		return nil
	}
	said := new(sdk.RequestError)
	if err := json.Unmarshal(e.Error, said); err == nil {
		return said
	}
	said = &sdk.RequestError{Code: codeInternal}
	if err := json.Unmarshal(e.Error, &said.Message); err != nil {
		said.Message = process.Clip(string(e.Error), 2000)
	}
	return said
}

// wire is the host's side of a connection. It uses the SDK's types but not its connection, which
// ends when a thousand updates wait to be stored, may lose a response written before the exit, and
// reports no positions in the stream.
type wire struct {
	out         chan []byte     // lines for the agent's writer
	written     chan struct{}   // signals a written line
	ended       <-chan struct{} // the process has ended: no more writes
	outputEnded chan struct{}   // closed when the agent's output has ended
	record      func(line string)

	mu     sync.Mutex
	last   int64                   // guarded by mu; the newest call
	calls  map[int64]chan envelope // guarded by mu; waiting calls
	broken chan struct{}           // guarded by mu until broken is closed
	why    error                   // guarded by mu until broken is closed; why the connection is broken
}

const (
	maxUnread = 1024 // messages queued for an agent that does not read
	maxID     = 256  // bytes of the id of an agent's request
)

func newWire(ended <-chan struct{}, record func(string)) *wire {
	return &wire{
		out: make(chan []byte, maxUnread), written: make(chan struct{}, 1), ended: ended,
		outputEnded: make(chan struct{}),
		record:      record, calls: make(map[int64]chan envelope),
		broken: make(chan struct{}),
	}
}

// fail breaks the connection: all calls, also later ones, end with the first why.
func (w *wire) fail(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == nil {
		w.why = why
		close(w.broken)
	}
}

type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type notification struct {
	JSONRPC string `json:"jsonrpc"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type answer struct {
	JSONRPC string            `json:"jsonrpc"`
	ID      json.RawMessage   `json:"id"`
	Result  any               `json:"result,omitempty"`
	Error   *sdk.RequestError `json:"error,omitempty"`
}

const version2 = "2.0"

// send queues a message for the writer. It never waits, since its callers hold locks: too many
// unread messages break the connection.
func (w *wire) send(message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	select {
	case <-w.ended:
		return errEnded
	case <-w.broken:
		return w.why
	default:
	}
	w.record(string(body)) // before the agent's reaction ends the turn to which the line belongs
	select {
	case w.out <- append(body, '\n'):
		return nil
	default:
		w.fail(errUnread)
		return errUnread
	}
}

// pace slows down an agent that writes requests faster than it reads answers: it waits until at
// most half of the queue is unread, before more output is read. If the agent reads nothing for the
// time of patience, the connection is broken. pace is called without a lock.
func (w *wire) pace(patience time.Duration) {
	if len(w.out) <= maxUnread/2 {
		return
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for len(w.out) > maxUnread/2 {
		select {
		case <-w.written:
			limit.Reset(patience)
		case <-w.ended:
			return
		case <-w.broken:
			return
		case <-limit.C:
			w.fail(errUnread)
			return
		}
	}
}

func (w *wire) notify(method string, params any) error {
	return w.send(notification{version2, method, params})
}

func (w *wire) reply(id json.RawMessage, result any) error {
	return w.answer(answer{JSONRPC: version2, ID: id, Result: result})
}

func (w *wire) refuse(id json.RawMessage, why *sdk.RequestError) error {
	return w.answer(answer{JSONRPC: version2, ID: id, Error: why})
}

// answer sends an answer with the id of the agent's request, whose length is limited because
// answers are queued in memory.
func (w *wire) answer(a answer) error {
	if len(a.ID) > maxID {
		w.fail(errProtocol{fmt.Sprintf("the id of a request has %d bytes, want at most %d", len(a.ID), maxID)})
		return w.why
	}
	return w.send(a)
}

// call calls a method of the agent and waits for the answer. Its error is the agent's
// (*sdk.RequestError), errEnded, why the connection is broken, or why ctx ended.
func (w *wire) call(ctx context.Context, method string, params, result any) error {
	reply := make(chan envelope, 1)
	w.mu.Lock()
	w.last++
	id := w.last
	w.calls[id] = reply
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.calls, id)
		w.mu.Unlock()
	}()
	if err := w.send(request{version2, id, method, params}); err != nil {
		return err
	}
	var e envelope
	select {
	case e = <-reply:
	case <-w.broken:
		return w.why
	case <-w.outputEnded:
		select {
		case e = <-reply: // the response arrived before the agent ended
		default:
			return errEnded
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if said := e.failure(); said != nil {
		return said
	}
	if len(e.Result) == 0 {
		return nil
	}
	if err := json.Unmarshal(e.Result, result); err != nil {
		return errProtocol{fmt.Sprintf("its answer to %s cannot be read: %v", method, err)}
	}
	return nil
}

// deliver gives an answer to its call, and reports whether a call waited for it. A second or late
// answer is ignored. An answer with an unknown id may be meant for a waiting call, which would
// never end: the connection is broken.
func (w *wire) deliver(e envelope) (waitedFor bool) {
	id, known := callOf(e.ID)
	w.mu.Lock()
	known = known && id > 0 && id <= w.last
	reply := w.calls[id]
	delete(w.calls, id)
	waiting := len(w.calls) > 0
	w.mu.Unlock()
	switch {
	case known && reply != nil:
		reply <- e
		return true
	case !known && waiting:
		what := "it answered a call that was not made, with the id " + process.Clip(string(e.ID), 100)
		if said := e.failure(); said != nil {
			what += ": " + describe(said)
		}
		w.fail(errProtocol{what})
	}
	return false
}

// callOf reads the id of an answer. The host's integers are also accepted as a string or as 1.0.
func callOf(raw json.RawMessage) (id int64, ok bool) {
	text := bytes.Trim(raw, `"`)
	if id, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return id, true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if id = int64(f); err != nil || float64(id) != f {
		return 0, false
	}
	return id, true
}
