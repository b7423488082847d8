package exec

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

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
	env := make([]string, 0, len(e.cfg.Env)+len(e.cfg.Set)+2)
	add := func(name, value string) {
		env = append(env, name+"="+value)
		if slices.Contains(e.cfg.Secrets, name) {
			secrets = append(secrets, value)
			if err := redact.Check(value); err != nil {
				broken = errors.Join(broken, fmt.Errorf("exec: Config.Secrets: %s: %w", name, err))
			}
		}
	}
	for _, name := range e.cfg.Env {
		if v, ok := os.LookupEnv(name); ok {
			add(name, v)
		}
	}
	for name, v := range e.cfg.Set {
		add(name, strings.ReplaceAll(expand(v, values), "\x00", "\uFFFD"))
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
			return fmt.Errorf("exec: Config.Secrets: %q is in neither Env nor Set", name)
		}
		if err := redact.Check(v); err != nil && !placeholder.MatchString(v) {
			return fmt.Errorf("exec: Config.Secrets: %s: %w", name, err)
		}
	}
	return nil
}

// redacted is the outcome without secrets, whichever way they came into it.
func (r *reading) redacted(o engine.Outcome) engine.Outcome {
	o.FinalText = cutAt(r.secrets.String(o.FinalText), r.cfg.MaxOutput)
	o.Process.Detail = r.secrets.String(o.Process.Detail)
	for i := range o.Diagnostics {
		o.Diagnostics[i].Detail = r.secrets.String(o.Diagnostics[i].Detail)
	}
	return o
}

// pieces are the pieces of a message that came so far, joined; also a secret that is spread over
// several is found.
func (r *reading) pieces() string {
	text := r.delta.String()
	if r.secrets == nil {
		return text
	}
	var b strings.Builder
	w := r.secrets.Writer(&b)
	_, _ = w.Write([]byte(text)) // a Builder takes all
	if r.deltaCut {
		w.Drop() // it may be the beginning of a secret
	}
	_ = w.Close()
	return cutAt(b.String(), r.cfg.MaxOutput)
}

// errRedacted is an error whose text held a secret.
type errRedacted struct {
	text string
	err  error
}

func (e *errRedacted) Error() string { return e.text }

// Is reports whether the error is of a kind. There is no Unwrap: its cause's text holds the secret.
func (e *errRedacted) Is(target error) bool { return errors.Is(e.err, target) }

// redactError is the error without secrets; it keeps the code that a turn ends with.
func redactError(secrets *redact.Redactor, err error) error {
	if err == nil || secrets.String(err.Error()) == err.Error() {
		return err
	}
	var f *engine.Failure
	if errors.As(err, &f) {
		return &engine.Failure{Code: f.Code, Detail: secrets.String(f.Detail), Err: redactError(secrets, f.Err)}
	}
	return &errRedacted{text: secrets.String(err.Error()), err: err}
}
