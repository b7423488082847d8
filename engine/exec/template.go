package exec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

var placeholders = map[string]bool{
	"{prompt}": true, "{input}": true, "{session}": true, "{workdir}": true, "{artifacts}": true, "{transcripts}": true,
	"{home}": true,
	"{run}":  true, "{attempt}": true, "{mode}": true, "{interaction}": true,
}

// autoArg is the argument that AutoArgs stand for.
const autoArg = "{auto}"

// checkTemplates finds unknown placeholders, and full-auto flags that have no place.
func (c Config) checkTemplates() error {
	all := slices.Concat([]string{c.Stdin}, c.Args, c.ResumeArgs)
	for name, v := range c.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || name == process.EnvRun || name == process.EnvToken {
			return fmt.Errorf("exec: Config.Set: %q is no variable that can be set", name)
		}
		all = append(all, v)
	}
	for _, text := range all {
		for _, name := range placeholder.FindAllString(text, -1) {
			if !placeholders[name] && text != autoArg { // {auto} stands for whole arguments only
				return fmt.Errorf("exec: Config: unknown placeholder %s in %q", name, text)
			}
		}
	}
	if c.Stdin == autoArg || len(c.AutoArgs) > 0 && (!slices.Contains(c.Args, autoArg) || len(c.ResumeArgs) > 0 &&
		!slices.Contains(c.ResumeArgs, autoArg)) {
		return errors.New("exec: Config.AutoArgs have no place: put the argument {auto} into Args, and into " +
			"ResumeArgs if there are any")
	}
	return nil
}

// arguments are the turn's, with the placeholders' values put in.
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
		arg := strings.ReplaceAll(expand(t, values), "\x00", "\uFFFD") // no argument can hold a NUL
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(t, "-") && !flagsOver {
			arg = " " + arg
		}
		flagsOver = flagsOver || t == "--"
		args = append(args, arg)
	}
	return args
}

// expand puts the values in, each once: what a value holds is never read as a placeholder.
func expand(template string, values map[string]string) string {
	return placeholder.ReplaceAllStringFunc(template, func(name string) string {
		if v, ok := values[name]; ok {
			return v
		}
		return name
	})
}
