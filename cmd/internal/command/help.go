package command

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

func (p Program) overview(out io.Writer) error {
	fmt.Fprintf(out, "%s\n\n", p.About)
	for _, v := range p.Verbs {
		fmt.Fprintf(out, "  %-16s  %s\n", strings.TrimSpace(v.Name+" "+v.Args), v.Does)
	}
	fmt.Fprintf(out, "  %-16s  %s\n", "completion SHELL", "print completions for bash, zsh or fish")
	_, err := fmt.Fprintf(out, "  %-16s  %s\n\n%s\n", "help VERB", "describe a verb and its flags", p.Status)
	return err
}

func (p Program) help(c Call, args []string) (int, error) {
	if len(args) == 0 {
		return Succeeded, p.overview(c.Out)
	}
	v := p.verb(args[0])
	if v == nil || len(args) > 1 {
		return Misused, Misusef("there is no verb %.80q to describe; interlude help lists all "+
			"verbs", strings.Join(args, " "))
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	v.Prepare(flags)
	v.help(c.Out, flags)
	return Succeeded, nil
}

func (v *Verb) help(out io.Writer, flags *flag.FlagSet) {
	has, last := false, ""
	flags.VisitAll(func(*flag.Flag) { has = true })
	usage := "interlude " + v.Name
	if has {
		usage += " [flags]"
	}
	fmt.Fprintf(out, "%s\n\n%s\n", strings.TrimSpace(usage+" "+v.Args), terminal.Wrap(sentence(v.Does), ""))
	if v.More != "" {
		fmt.Fprintf(out, "\n%s\n", terminal.Wrap(v.More, ""))
	}
	if has {
		fmt.Fprintln(out)
	}
	flags.VisitAll(func(f *flag.Flag) {
		value, does := flag.UnquoteUsage(f)
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" {
			does += " (default " + d + ")"
		}
		fmt.Fprintf(out, "  -%s\n%s\n", strings.TrimSpace(f.Name+" "+value), terminal.Wrap(does, "      "))
		last = f.Name
	})
	if has {
		fmt.Fprintf(out, "\n%s\n", terminal.Wrap("An environment variable can set each flag, for example $"+
			Variable(Prefix, last)+" for -"+last+"; the command line has precedence.", ""))
	}
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }
