package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

var placeholders = map[string]bool{
	"{prompt}": true, "{input}": true, "{session}": true, "{workdir}": true, "{artifacts}": true, "{transcripts}": true,
	"{home}": true,
	"{run}":  true, "{attempt}": true, "{mode}": true, "{interaction}": true,
}

const autoArg = "{auto}"

// validateTemplates rejects unknown placeholders, and full-auto flags without a placeholder.
func (c Config) validateTemplates() error {
	all := slices.Concat([]string{c.Stdin}, c.Args, c.ResumeArgs, slices.Collect(maps.Values(c.Set)))
	for _, text := range all {
		for _, name := range process.Placeholders(text) {
			if !placeholders[name] && text != autoArg { // {auto} replaces only whole arguments
				return fmt.Errorf("exec: Config: unknown placeholder %s in %q", name, text)
			}
		}
	}
	if c.Stdin == autoArg || len(c.AutoArgs) > 0 && (!slices.Contains(c.Args, autoArg) || len(c.ResumeArgs) > 0 &&
		!slices.Contains(c.ResumeArgs, autoArg)) {
		return errors.New("exec: Config.AutoArgs have no place: add the argument {auto} to Args, and to " +
			"ResumeArgs if there are any")
	}
	return nil
}

func (c Config) arguments(templates []string, values map[string]string, mode fsm.Mode) []string {
	args := make([]string, 0, len(templates)+len(c.AutoArgs))
	flagsOver := false
	for _, t := range templates {
		if t == autoArg {
			if mode == fsm.ModeAuto {
				args = append(args, c.AutoArgs...)
			}
			continue
		}
		arg := process.ExpandArgument(t, values)
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(t, "-") && !flagsOver {
			arg = " " + arg
		}
		flagsOver = flagsOver || t == "--"
		args = append(args, arg)
	}
	return args
}

// stdinValues are the values for the template Stdin: encoded as JSON with StdinJSON.
func (c Config) stdinValues(values map[string]string) map[string]string {
	if !c.StdinJSON {
		return values
	}
	stdinValues := make(map[string]string, len(values))
	for name, v := range values {
		if name == "{attempt}" || name == "{interaction}" {
			stdinValues[name] = v
			continue
		}
		body, _ := json.Marshal(v) // a string can be encoded
		stdinValues[name] = string(body)
	}
	return stdinValues
}

func (c Config) environment() process.Environment {
	return process.Environment{Inherit: c.Env, Set: c.Set, Secrets: c.Secrets}
}

func (c Config) usesHome() bool {
	return process.UsesPlaceholder("{home}", c.Set, slices.Concat([]string{c.Stdin}, c.Args, c.ResumeArgs)...)
}
