package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// maxSession is the longest session id that is taken, in bytes.
const maxSession = 4 << 10

// errOtherSession ends a turn that would go on with nothing.
var errOtherSession = errors.New("exec: the agent began another session than the one to resume")

// begin stores the session id as soon as it is known.
func (r *reading) begin(session string) error {
	if session == "" || session == r.session {
		return nil
	}
	if err := usable(session); err != nil {
		r.diagnose(fsm.WarnEngineDiagnostic, err.Error())
		return nil
	}
	if r.resumed && r.cfg.KeepsSession {
		r.lost, r.failed = true, &engine.Process{Detail: "it began another one, " + clip(session, 100)}
		return errOtherSession
	}
	r.session = session
	if h := r.handle(); h != nil {
		return r.sink.Handle(r.ctx, *h)
	}
	return nil
}

// usable refuses a session id that would be something else on a command line: the agent writes it,
// and it comes back to the agent as an argument.
func usable(session string) error {
	if len(session) > maxSession || strings.HasPrefix(session, "-") || strings.ContainsFunc(session,
		unicode.IsControl) {
		return fmt.Errorf("the session id %q is not taken: want at most %d bytes, no dash at the beginning, no "+
			"control characters", clip(session, 40), maxSession)
	}
	return nil
}

// handle is the session as it is stored, nil when there is none to go on with. A resident agent
// goes on in its process; its handle only names the session.
func (r *reading) handle() *engine.Handle {
	switch {
	case r.cfg.Resident:
	case len(r.cfg.ResumeArgs) == 0, r.session == "" && r.cfg.namesSession():
		return nil
	}
	body, _ := json.Marshal(r.session) // a string can be encoded
	return &engine.Handle{Engine: r.cfg.Name, Version: r.version, Data: body}
}

// namesSession reports whether a turn is resumed by a session id. Some agents find their session in
// the working folder.
func (c Config) namesSession() bool {
	has := func(s string) bool { return strings.Contains(s, "{session}") }
	for _, v := range c.Set {
		if has(v) {
			return true
		}
	}
	return has(c.Stdin) || slices.ContainsFunc(c.ResumeArgs, has)
}

// sessionOf is the session id in a handle of this engine.
func (c Config) sessionOf(h engine.Handle) (session string, _ error) {
	switch {
	case h.Engine != c.Name:
		return "", fmt.Errorf("the handle is of engine %q, this is %q", clip(h.Engine, 40), c.Name)
	case len(c.ResumeArgs) == 0:
		return "", errors.New("the agent cannot resume a session: Config has no ResumeArgs")
	}
	if err := json.Unmarshal(h.Data, &session); err != nil {
		return "", fmt.Errorf("the handle cannot be read: %w", err)
	}
	if session == "" && c.namesSession() {
		return "", errors.New("the handle names no session")
	}
	return session, usable(session)
}

// resume finds the session that the turn goes on with. A resident agent goes on in its process.
func (r *reading) resume() error {
	if r.cfg.Resident {
		return nil
	}
	var err error
	switch {
	case r.turn.Handle != nil:
		r.resumed = true
		r.session, err = r.cfg.sessionOf(*r.turn.Handle)
	case r.turn.GoesOn():
		err = errors.New("there is no session to go on with")
	}
	if err != nil {
		return &engine.Failure{Code: fsm.CodeSessionResumeFailed, Detail: err.Error()}
	}
	return nil
}

// Check refuses a handle that is not this engine's or names no session. Whether the agent still has
// the session is known when it is asked to go on.
func (e *Engine) Check(_ context.Context, _ string, h engine.Handle) error {
	if e.cfg.Resident {
		return nil
	}
	if _, err := e.cfg.sessionOf(h); err != nil {
		return fmt.Errorf("%w: %w", engine.ErrHandleRefused, err)
	}
	return nil
}
