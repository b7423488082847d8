package acp

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
)

// surroundings are what an agent is started with: its environment, beside the marks of its run, and
// which of it must not be seen.
type surroundings struct {
	env     []string
	secrets *redact.Redactor
}

// surroundings are what is allowed, what is set, and nothing else. Each variable is read once, so
// that what is redacted is what the agent has.
func (e *Engine) surroundings(values map[string]string) (surroundings, error) {
	var secrets []string
	var broken error
	env := make([]string, 0, len(e.cfg.Env)+len(e.cfg.Set))
	add := func(name, value string) {
		env = append(env, name+"="+value)
		if slices.Contains(e.cfg.Secrets, name) {
			secrets = append(secrets, value)
			if err := redact.Check(value); err != nil {
				broken = errors.Join(broken, fmt.Errorf("acp: Config.Secrets: %s: %w", name, err))
			}
		}
	}
	for _, name := range e.cfg.Env {
		if v, ok := os.LookupEnv(name); ok {
			add(name, v)
		}
	}
	for name, v := range e.cfg.Set {
		add(name, expand(v, values))
	}
	if broken != nil {
		return surroundings{}, &engine.Failure{Code: fsm.CodeEngineUnavailable,
			Detail: "a secret of the agent cannot be kept", Err: broken}
	}
	r, err := redact.New(secrets...)
	return surroundings{env: env, secrets: r}, err
}

// checkSecrets finds names that stand for nothing, and values that are known to be too short.
func (c Config) checkSecrets() error {
	for _, name := range c.Secrets {
		v, set := c.Set[name]
		if !set && !slices.Contains(c.Env, name) {
			return fmt.Errorf("acp: Config.Secrets: %q is in neither Env nor Set", name)
		}
		if err := redact.Check(v); err != nil && !placeholder.MatchString(v) {
			return fmt.Errorf("acp: Config.Secrets: %s: %w", name, err)
		}
	}
	return nil
}

// text is s without the agent's secrets.
func (a *agent) text(s string) string { return a.secrets.String(s) }
