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

// errGone says that the agent's output has ended.
var errGone = errors.New("acp: the agent has ended")

// errUnread says that an agent keeps asking and does not read the answers.
var errUnread = fmt.Errorf("acp: the agent does not read its input: more than %d messages wait for it", maxUnread/2)

// errProtocol says that an agent wrote something after which it is unknown what it waits for, or
// what it has answered.
type errProtocol struct{ what string }

func (e errProtocol) Error() string { return "acp: the agent does not keep to the protocol: " + e.what }

// JSON-RPC error codes of the protocol.
const (
	codeInternal       = -32603
	codeMethodNotFound = -32601
	codeAuthRequired   = -32000
)

// envelope is a JSON-RPC message of the agent.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// failure is the error of an answer, nil when it has none. An agent that writes a mere text is
// understood too.
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

// wire is the host's half of a connection. The types of the protocol are the SDK's; its connection
// is not used: it ends when a thousand updates wait to be stored, may lose an answer that the agent
// writes before it ends, and does not say where a message stands in the stream.
type wire struct {
	out   chan []byte     // lines for the agent's writer
	taken chan struct{}   // the writer has written one
	ended <-chan struct{} // the process has ended: nobody writes any more
	gone  chan struct{}   // closed when the agent's output has ended
	keep  func(line string)

	mu     sync.Mutex
	last   int64                   // guarded by mu; the newest call
	calls  map[int64]chan envelope // guarded by mu; which wait for an answer
	broken chan struct{}           // closed when why is set
	why    error                   // guarded by mu until broken is closed; why nothing more can come of this connection
}

// maxUnread is how many messages may wait for an agent that does not read; maxID is how long the id
// of a request may be that is answered.
const (
	maxUnread = 1024
	maxID     = 256
)

func newWire(ended <-chan struct{}, keep func(string)) *wire {
	return &wire{
		out: make(chan []byte, maxUnread), taken: make(chan struct{}, 1), ended: ended, gone: make(chan struct{}),
		keep: keep, calls: make(map[int64]chan envelope),
		broken: make(chan struct{}),
	}
}

// fail gives the connection up: all calls end with why, now and later. The first reason stays.
func (w *wire) fail(why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == nil {
		w.why = why
		close(w.broken)
	}
}

// request, notice and answer are what the host writes.
type request struct {
	JSONRPC string `json:"jsonrpc"`
	ID      int64  `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

type notice struct {
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

// send hands a message to the agent's writer, and never waits: its callers hold locks. An agent
// that leaves too many messages unread has broken the connection.
func (w *wire) send(message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	select {
	case <-w.ended:
		return errGone
	case <-w.broken:
		return w.why
	case w.out <- append(body, '\n'):
		w.keep(string(body))
		return nil
	default:
		w.fail(errUnread)
		return errUnread
	}
}

// pace slows down an agent that asks faster than it reads: its output is not read on before it has
// read half of what is queued for it. The connection is given up when the agent reads nothing for
// the time of patience. pace is called without a lock.
func (w *wire) pace(patience time.Duration) {
	if len(w.out) <= maxUnread/2 {
		return
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for len(w.out) > maxUnread/2 {
		select {
		case <-w.taken:
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
	return w.send(notice{version2, method, params})
}

func (w *wire) reply(id json.RawMessage, result any) error {
	return w.answer(answer{JSONRPC: version2, ID: id, Result: result})
}

func (w *wire) refuse(id json.RawMessage, why *sdk.RequestError) error {
	return w.answer(answer{JSONRPC: version2, ID: id, Error: why})
}

// answer repeats the id of the agent's request, whose length is limited: the answer waits in
// memory.
func (w *wire) answer(a answer) error {
	if len(a.ID) > maxID {
		w.fail(errProtocol{fmt.Sprintf("the id of a request has %d bytes, want at most %d", len(a.ID), maxID)})
		return w.why
	}
	return w.send(a)
}

// call waits for the agent's answer. Its error is the agent's (*sdk.RequestError), errGone, why the
// connection was given up, or why ctx ended.
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
	case <-w.gone:
		select {
		case e = <-reply: // it came just before the end
		default:
			return errGone
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
// answer is ignored. An answer with an unknown id may be the one that a call waits for: the
// connection is given up, since that call might wait forever.
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
			what += ": " + reason(said)
		}
		w.fail(errProtocol{what})
	}
	return false
}

// callOf reads the id of an answer. Ids are numbers here; an agent that gives one back as a text,
// or with a fraction of zero, is understood.
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
