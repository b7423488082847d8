package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/engine/transcript"
	"github.com/interlude-go/interlude/fsm"
)

type agent struct {
	*process.Process
	*wire
	feed    *feed
	lines   *process.LineReader
	stderr  *transcript.File // of the error output; closed with the process
	secrets *redact.Redactor
	grace   time.Duration

	announced  announcement
	session    string
	transcript atomic.Pointer[transcript.File] // of the current turn

	handling sync.Mutex      // held while a line is handled
	turn     *turn           // guarded by handling; nil between turns
	waiting  *waitingRequest // guarded by handling; a permission request that stays open between turns
}

// launch starts the agent for a turn. Its error output goes to stderr, which is closed when the
// agent is released, or not started.
func (e *Engine) launch(t engine.Turn, stderr *transcript.File) (*agent, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		stderr.Close()
		return nil, process.NotStarted(err)
	}
	values := e.cfg.values(t)
	environment := e.cfg.environment()
	env, secrets, err := environment.Resolve(values)
	if err != nil {
		stderr.Close()
		return nil, err
	}
	a := &agent{stderr: stderr, secrets: secrets, grace: e.cfg.Grace}
	args := make([]string, 0, len(e.cfg.Args))
	for _, arg := range e.cfg.Args {
		args = append(args, process.ExpandArgument(arg, values))
	}
	cmd := process.Command{
		RunID: t.RunID, Path: program.Path, Args: args, Dir: t.WorkDir, Env: env, Channel: true, Stderr: stderr,
		TempIn: environment.TempIn(t.HomeDir), Redact: secrets, Grace: e.cfg.Grace, MaxMemory: e.cfg.MaxMemory,
	}
	if e.cfg.Sandbox != nil {
		cmd.Sandbox = func(c *exec.Cmd) error { return e.cfg.Sandbox(c, t) }
	}
	a.Process, err = e.processes.Start(cmd)
	if err != nil {
		stderr.Close()
		return nil, process.NotStarted(err)
	}
	a.wire = newWire(a.Ended(), func(line string) { a.transcript.Load().Line(toAgent, []byte(a.redacted(line))) })
	a.feed = &feed{out: a.Stdout, running: a.Running}
	a.lines = process.NewLineReader(a.feed, nil, e.cfg.MaxLine)
	a.lines.Allow(e.cfg.MaxStream)
	go a.write() // all end with the process
	go a.readLines()
	go a.endWhenBroken()
	return a, nil
}

// endWhenBroken waits until the connection is broken, and then stops the turn, which ends the
// agent; between turns it ends the agent itself.
func (a *agent) endWhenBroken() {
	select {
	case <-a.broken:
	case <-a.Ended():
		return
	}
	a.handling.Lock()
	t := a.turn
	a.handling.Unlock()
	if t != nil {
		t.halt(a.why)
		return
	}
	a.End()
}

func (a *agent) isBroken() bool {
	select {
	case <-a.broken:
		return true
	default:
		return false
	}
}

// write writes the queued messages until the process has ended. Messages that the agent does not
// read before its end are lost.
func (a *agent) write() {
	for {
		select {
		case line := <-a.out:
			_, _ = a.Stdin.Write(line) // returns at the latest when the process ends and Stdin is closed
			select {
			case a.written <- struct{}{}:
			default:
			}
		case <-a.Ended():
			return
		}
	}
}

func (a *agent) readLines() {
	defer close(a.outputEnded)
	for {
		l, err := a.lines.Next()
		if errors.Is(err, process.ErrFlood) {
			a.fail(process.ErrFlood)
			_, _ = io.Copy(io.Discard, a.feed)
		}
		if err != nil {
			return
		}
		a.pace(a.grace)
		a.handleLine(l)
	}
}

// handleLine handles one line. It must not wait for the agent, which may be waiting for the
// result.
func (a *agent) handleLine(l process.Line) {
	a.handling.Lock()
	defer a.handling.Unlock()
	t := a.turn
	if t != nil {
		t.wrote = true
	}
	ref := a.transcript.Load().Line(fromAgent, []byte(a.redacted(string(l.Text))))
	if l.Cut {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a line of %d bytes was cut", l.Length))
		a.rejectUnreadable(l.Text, fmt.Sprintf("a message of %d bytes exceeds the limit of a line", l.Length))
		return
	}
	text := bytes.TrimSpace(l.Text)
	if len(text) == 0 {
		return
	}
	text = t.validUTF8(text)
	var e envelope
	err := json.Unmarshal(text, &e)
	if err != nil || e.Method == "" && len(e.ID) == 0 {
		t.diagnose(fsm.WarnEngineOutputMalformed, "a line of output is not a message of the protocol: "+
			a.redacted(process.Clip(string(text), 200)))
	}
	switch {
	case err != nil:
		a.rejectUnreadable(text, "a message cannot be read: "+process.Clip(err.Error(), 200))
		return
	case e.Method == "" && len(e.ID) == 0:
		return
	}
	a.dispatch(t, e, ref)
}

// dispatch handles a message by its kind. Requests other than for permissions are refused.
func (a *agent) dispatch(t *turn, e envelope, ref *engine.RawRef) {
	switch {
	case e.Method == "":
		if a.deliver(e) {
			t.restartIdle()
		}
	case len(e.ID) == 0 && e.Method == sdk.ClientMethodSessionUpdate && t != nil:
		t.pauseIdle()
		defer t.restartIdle()
		t.update(e.Params, ref)
	case len(e.ID) == 0: // a turn needs no other notification
	case e.Method == sdk.ClientMethodSessionRequestPermission:
		t.pauseIdle()
		defer t.restartIdle()
		a.handlePermission(t, e)
	default: // an unknown request is not progress: an agent that only repeats it counts as idle
		_ = a.refuse(e.ID, sdk.NewMethodNotFound(process.Clip(e.Method, maxLabel)))
	}
}

// rejectUnreadable handles a message that cannot be parsed completely, so that no call waits for
// it: an agent's request is refused, and an answered call gets an error. If the message's kind is
// unreadable, the connection is broken.
func (a *agent) rejectUnreadable(text []byte, why string) {
	e, begun := readableStart(text)
	switch {
	case !begun:
	case len(e.ID) == 0 && e.Method == sdk.ClientMethodSessionUpdate: // a notification has no answer
	case len(e.ID) == 0:
		a.fail(errProtocol{why + ", and its readable part names neither a call nor a method"})
	case e.Method == "":
		e.Error, _ = json.Marshal(sdk.NewInternalError(why)) // a text can be encoded
		a.deliver(e)
	default:
		_ = a.refuse(e.ID, sdk.NewInvalidRequest(why))
	}
}

// readableStart decodes a message's members up to the first undecodable one. begun: the text begins
// like a message of the protocol.
func readableStart(text []byte) (e envelope, begun bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return e, false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			break
		}
		begun = begun || slices.Contains([]string{"jsonrpc", "id", "method", "params", "result", "error"},
			fmt.Sprint(name))
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			break
		}
		switch name {
		case "id":
			e.ID = v
		case "method":
			_ = json.Unmarshal(v, &e.Method) // no text is no method
		}
	}
	return e, begun
}

// attach makes the turn the receiver of the agent's lines. attach(nil) detaches the agent: after
// it returns, no goroutine uses the earlier turn.
func (a *agent) attach(t *turn, maxStream int) {
	a.handling.Lock()
	defer a.handling.Unlock()
	a.turn = t
	a.transcript.Store(nil)
	if t != nil {
		t.agent = a
		a.transcript.Store(t.transcript)
		a.lines.Allow(maxStream)
	}
	switch { // a broken connection must be seen here: endWhenBroken may have run before the turn was set
	case !a.isBroken():
	case t != nil:
		t.halt(a.why)
	default:
		go a.End()
	}
}

// closeInput closes the agent's input, and ends the agent if it does not exit within the grace.
func (a *agent) closeInput() {
	_ = a.Stdin.Close()
	patience := time.NewTimer(a.grace)
	defer patience.Stop()
	select {
	case <-a.Ended():
	case <-patience.C:
		a.End()
	}
}

func (a *agent) Release() {
	a.Process.Release()
	<-a.outputEnded
	a.stderr.Close()
}

func (a *agent) redacted(s string) string { return a.secrets.String(s) }

// errorOutput returns the end of the error output, redacted, for a failure's text.
func (a *agent) errorOutput() string {
	return process.ForPeople(a.ErrorText(), 2000)
}
