package exec

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

// usesHome reports whether the agent keeps something in the run's HomeDir.
func (c Config) usesHome() bool {
	has := func(s string) bool { return strings.Contains(s, "{home}") }
	for _, v := range c.Set {
		if has(v) {
			return true
		}
	}
	return has(c.Stdin) || slices.ContainsFunc(c.Args, has) || slices.ContainsFunc(c.ResumeArgs, has)
}

// checkHome refuses to go on where the agent's own files are gone: it would begin anew, or fail for
// a reason that says nothing.
func (e *Engine) checkHome(r *reading) error {
	if !e.cfg.usesHome() {
		return nil
	}
	if r.turn.HomeDir == "" {
		return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "the agent needs a home of the run's own: " +
			"set lifecycle.Config.Dir"}
	}
	info, err := os.Stat(r.turn.HomeDir)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = errors.New("it is no folder")
	}
	code := fsm.CodeWorkspaceMissing
	if r.resumed {
		code = fsm.CodeSessionResumeFailed
	}
	return &engine.Failure{Code: code, Detail: "the agent's home is missing: " + r.turn.HomeDir, Err: err}
}

// prepare has the host put the agent's settings in place.
func (e *Engine) prepare(r *reading) error {
	if e.cfg.Prepare == nil {
		return nil
	}
	err := e.cfg.Prepare(r.ctx, r.turn)
	var f *engine.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return &engine.Failure{Code: fsm.CodeEngineUnavailable, Detail: "the agent could not be prepared", Err: err}
}
