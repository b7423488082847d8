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

// agent is a process that speaks the protocol.
type agent struct {
	*process.Process
	*wire
	feed    *feed
	lines   *process.LineReader
	errs    *transcript.File // of the error output; closed with the process
	secrets *redact.Redactor
	grace   time.Duration

	hello   hello
	session string
	script  atomic.Pointer[transcript.File] // of the turn that uses the agent

	hear sync.Mutex // held while a line is handled
	turn *turn      // guarded by hear; nil between turns
	held *held      // guarded by hear; a permission request that stays open between two turns
}

// launch starts the agent for a turn. errs takes its error output, and is closed with it.
func (e *Engine) launch(t engine.Turn, errs *transcript.File) (*agent, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		errs.Close()
		return nil, process.NotStarted(err)
	}
	values := e.cfg.values(t)
	env, secrets, err := e.cfg.environment().Resolve(values)
	if err != nil {
		errs.Close()
		return nil, err
	}
	a := &agent{errs: errs, secrets: secrets, grace: e.cfg.Grace}
	args := make([]string, 0, len(e.cfg.Args))
	for _, arg := range e.cfg.Args {
		args = append(args, process.ExpandArgument(arg, values))
	}
	cmd := process.Command{
		RunID: t.RunID, Path: program.Path, Args: args, Dir: t.WorkDir, Env: env, Channel: true, Stderr: errs,
		Redact: secrets, Grace: e.cfg.Grace, MaxMemory: e.cfg.MaxMemory,
	}
	if e.cfg.Sandbox != nil {
		cmd.Sandbox = func(c *exec.Cmd) error { return e.cfg.Sandbox(c, t) }
	}
	a.Process, err = e.processes.Start(cmd)
	if err != nil {
		errs.Close()
		return nil, process.NotStarted(err)
	}
	a.wire = newWire(a.Ended(), func(line string) { a.script.Load().Line(toAgent, []byte(a.text(line))) })
	a.feed = &feed{out: a.Stdout, running: a.Running}
	a.lines = process.NewLineReader(a.feed, nil, e.cfg.MaxLine)
	a.lines.Allow(e.cfg.MaxStream)
	go a.write() // all end with the process
	go a.readLines()
	go a.endWhenBroken()
	return a, nil
}

// endWhenBroken waits until the connection is given up, and then stops the turn, which ends the
// agent. Between turns it ends the agent itself.
func (a *agent) endWhenBroken() {
	select {
	case <-a.broken:
	case <-a.Ended():
		return
	}
	a.hear.Lock()
	t := a.turn
	a.hear.Unlock()
	if t != nil {
		t.halt(a.why)
		return
	}
	a.End()
}

// isBroken reports whether the connection was given up.
func (a *agent) isBroken() bool {
	select {
	case <-a.broken:
		return true
	default:
		return false
	}
}

// write writes what is sent, until the process has ended. What an agent does not read before its
// end is lost.
func (a *agent) write() {
	for {
		select {
		case line := <-a.out:
			_, _ = a.Stdin.Write(line) // ends when Stdin is closed, with the process at the latest
			select {
			case a.taken <- struct{}{}:
			default:
			}
		case <-a.Ended():
			return
		}
	}
}

// readLines handles the agent's lines, in order, until its output ends.
func (a *agent) readLines() {
	defer close(a.gone)
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

// handleLine handles one line. It never waits for the agent, which may be waiting for this line to
// be handled.
func (a *agent) handleLine(l process.Line) {
	a.hear.Lock()
	defer a.hear.Unlock()
	t := a.turn
	if t != nil {
		t.wrote = true
	}
	ref := a.script.Load().Line(fromAgent, []byte(a.text(string(l.Text))))
	if l.Cut {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("a line of %d bytes was cut", l.Length))
		a.rejectUnreadable(l.Text, fmt.Sprintf("a message of %d bytes is longer than Config.MaxLine", l.Length))
		return
	}
	text := bytes.TrimSpace(l.Text)
	if len(text) == 0 {
		return
	}
	text = t.valid(text)
	var e envelope
	err := json.Unmarshal(text, &e)
	if err != nil || e.Method == "" && len(e.ID) == 0 {
		t.diagnose(fsm.WarnEngineOutputMalformed, "a line of output is no message of the protocol: "+
			a.text(process.Clip(string(text), 200)))
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
	case len(e.ID) == 0: // other notices say nothing that a turn needs
	case e.Method == sdk.ClientMethodSessionRequestPermission:
		t.pauseIdle()
		defer t.restartIdle()
		a.permission(t, e)
	default: // no sign of work: an agent that asks on and on for what is not offered is idle
		_ = a.refuse(e.ID, sdk.NewMethodNotFound(process.Clip(e.Method, maxLabel)))
	}
}

// rejectUnreadable answers for a message that cannot be read to its end, so that nobody waits for
// it: a request of the agent is refused, and a call that the message answers gets an error. When
// the readable part does not say which, the connection is given up.
func (a *agent) rejectUnreadable(text []byte, why string) {
	e, begun := readableStart(text)
	switch {
	case !begun:
	case len(e.ID) == 0 && e.Method == sdk.ClientMethodSessionUpdate: // a notice, which nobody waits for
	case len(e.ID) == 0:
		a.fail(errProtocol{why + ", and what could be read of it does not say whom it answers or what it asks"})
	case e.Method == "":
		e.Error, _ = json.Marshal(sdk.NewInternalError(why)) // a text can be encoded
		a.deliver(e)
	default:
		_ = a.refuse(e.ID, sdk.NewInvalidRequest(why))
	}
}

// readableStart reads the part of a message before that which cannot be read. begun says that the
// text is the beginning of a message at all.
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

// attach gives the agent to a turn: the lines from now on belong to that. Nil takes the agent away
// again; when attach has returned, no goroutine uses the turn any more.
func (a *agent) attach(t *turn, maxStream int) {
	a.hear.Lock()
	defer a.hear.Unlock()
	a.turn = t
	a.script.Store(nil)
	if t != nil {
		t.agent = a
		a.script.Store(t.transcript)
		a.lines.Allow(maxStream)
	}
	switch { // endWhenBroken has stopped an earlier turn, or none
	case !a.isBroken():
	case t != nil:
		t.halt(a.why)
	default:
		go a.End()
	}
}

// closeInput closes the input of an agent that is not needed any more, which then ends by itself,
// and ends it when it does not.
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

// Release gives back what is kept for an ended agent.
func (a *agent) Release() {
	a.Process.Release()
	<-a.gone
	a.errs.Close()
}

// text is s without the agent's secrets.
func (a *agent) text(s string) string { return a.secrets.String(s) }

// errorOutput is the end of the error output, for the text of a failure. Secrets were taken out of
// it when it was read.
func (a *agent) errorOutput() string {
	return process.ForPeople(a.ErrorText(), 2000)
}
