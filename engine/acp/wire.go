package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// errGone says that the agent's output has ended.
var errGone = errors.New("acp: the agent has ended")

// codeMethodNotFound and codeAuthRequired are JSON-RPC error codes of the protocol.
const (
	codeMethodNotFound = -32601
	codeAuthRequired   = -32000
)

// envelope is a JSON-RPC message of the agent.
type envelope struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params json.RawMessage   `json:"params"`
	Result json.RawMessage   `json:"result"`
	Error  *sdk.RequestError `json:"error"`
}

// wire is the host's half of a connection. The types of the protocol are the SDK's; its connection is not used: it ends when a thousand updates
// wait to be stored, may lose an answer that the agent writes before it ends, and does not say where a message stands in the stream.
type wire struct {
	out   chan []byte     // lines for the agent's writer
	ended <-chan struct{} // the process has ended: nobody writes any more
	gone  chan struct{}   // closed when the agent's output has ended
	keep  func(line string)

	mu    sync.Mutex
	last  int64                   // guarded by mu; the newest call
	calls map[int64]chan envelope // guarded by mu; which wait for an answer
}

// maxUnread is how many lines may wait for an agent that does not read.
const maxUnread = 64

func newWire(ended <-chan struct{}, keep func(string)) *wire {
	return &wire{
		out: make(chan []byte, maxUnread), ended: ended, gone: make(chan struct{}), keep: keep, calls: make(map[int64]chan envelope),
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

// send hands a message to the agent's writer. It waits as long as the agent does not read.
func (w *wire) send(ctx context.Context, message any) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	w.keep(string(body))
	select {
	case w.out <- append(body, '\n'):
		return nil
	case <-w.ended:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *wire) notify(ctx context.Context, method string, params any) error {
	return w.send(ctx, notice{version2, method, params})
}

func (w *wire) reply(ctx context.Context, id json.RawMessage, result any) error {
	return w.send(ctx, answer{JSONRPC: version2, ID: id, Result: result})
}

func (w *wire) refuse(ctx context.Context, id json.RawMessage, why *sdk.RequestError) error {
	return w.send(ctx, answer{JSONRPC: version2, ID: id, Error: why})
}

// call waits for the agent's answer. Its error is the agent's (*sdk.RequestError), errGone, or why ctx ended.
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
	if err := w.send(ctx, request{version2, id, method, params}); err != nil {
		return err
	}
	var e envelope
	select {
	case e = <-reply:
	case <-w.gone:
		select {
		case e = <-reply: // its last word
		default:
			return errGone
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if e.Error != nil {
		return e.Error
	}
	if len(e.Result) == 0 {
		return nil
	}
	return json.Unmarshal(e.Result, result)
}

// deliver gives an answer to who waits for it. An answer that nobody waits for is passed over.
func (w *wire) deliver(e envelope) {
	id, err := strconv.ParseInt(string(e.ID), 10, 64)
	if err != nil {
		return
	}
	w.mu.Lock()
	reply := w.calls[id]
	delete(w.calls, id)
	w.mu.Unlock()
	if reply != nil {
		reply <- e
	}
}
