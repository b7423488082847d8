package process

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine/redact"
)

// Environment is the environment of an agent's process. exec.Config and acp.Config have the same
// fields, and describe them.
type Environment struct {
	Inherit []string          // variables of the host that the process gets
	Set     map[string]string // additional ones; the values may contain placeholders
	Secrets []string          // names of either; their values are secret
}

// Check finds invalid variables, secrets that name no variable, and secrets known to be too short.
func (e Environment) Check() error {
	for name := range e.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || name == EnvRun || name == EnvToken {
			return fmt.Errorf("Config.Set: %q is not a variable that can be set", name)
		}
	}
	for _, name := range e.Secrets {
		v, set := e.Set[name]
		if !set && !slices.Contains(e.Inherit, name) {
			return fmt.Errorf("Config.Secrets: %q is in neither Env nor Set", name)
		}
		if err := redact.Check(v); err != nil && !placeholder.MatchString(v) {
			return fmt.Errorf("Config.Secrets: %s: %w", name, err)
		}
	}
	return nil
}

// Resolve returns the variables of a process, NAME=value, and a Redactor of its secrets. It reads
// each variable once, so it redacts exactly the values that the process gets. values are the
// placeholders' values.
func (e Environment) Resolve(values map[string]string) (env []string, secrets *redact.Redactor, _ error) {
	var secret []string
	var refused error
	env = make([]string, 0, len(e.Inherit)+len(e.Set)+2) // and the two marks of the run
	add := func(name, value string) {
		env = append(env, name+"="+value)
		if slices.Contains(e.Secrets, name) {
			secret = append(secret, value)
			if err := redact.Check(value); err != nil {
				refused = errors.Join(refused, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	for _, name := range e.Inherit {
		if v, ok := os.LookupEnv(name); ok {
			add(name, v)
		}
	}
	for name, v := range e.Set {
		add(name, ExpandArgument(v, values))
	}
	if refused != nil {
		return nil, nil, Unavailable("a secret of the agent cannot be redacted", refused)
	}
	secrets, err := redact.New(secret...)
	return env, secrets, err
}

// placeholder matches what Expand replaces, for example {session}.
var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// Expand replaces each placeholder in a template once; values are not expanded again. A placeholder
// without a value is kept.
func Expand(template string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return name
	})
}

// ExpandArgument is Expand for command-line arguments and environment variables, in which NUL
// becomes U+FFFD.
func ExpandArgument(template string, values map[string]string) string {
	return strings.ReplaceAll(Expand(template, values), "\x00", "\uFFFD")
}

// Placeholders returns the placeholders in a template.
func Placeholders(template string) []string { return placeholder.FindAllString(template, -1) }

// UsesPlaceholder reports whether a template, or a value in set, contains the placeholder.
func UsesPlaceholder(name string, set map[string]string, templates ...string) bool {
	uses := func(template string) bool { return strings.Contains(template, name) }
	for _, v := range set {
		if uses(v) {
			return true
		}
	}
	return slices.ContainsFunc(templates, uses)
}
