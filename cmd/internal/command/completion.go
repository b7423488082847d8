package command

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// completing is the hidden verb that a shell calls for candidates, with the words so far; the last
// is to be completed.
const completing = "__complete"

// shells are the scripts that interlude completion prints. Each asks the program for candidates, so
// it fits every version. File names are left to the shell.
var shells = map[string]string{
	"bash": `# interlude completion bash > /etc/bash_completion.d/interlude
_interlude() {
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" \
		-- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _interlude interlude
`,
	"zsh": `#compdef interlude
# interlude completion zsh > "${fpath[1]}/_interlude"
_interlude() {
	local -a found
	found=("${(@f)$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _interlude interlude
`,
	"fish": `# interlude completion fish > ~/.config/fish/completions/interlude.fish
complete -c interlude -a '(interlude __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
}

func (p Program) completion(c Call, args []string) (int, error) {
	if len(args) != 1 || shells[args[0]] == "" {
		return Misused, Misusef("want a shell: interlude completion bash, zsh or fish")
	}
	_, err := io.WriteString(c.Out, shells[args[0]])
	return Succeeded, err
}

// complete prints the candidates for the last word, one per line.
func (p Program) complete(out io.Writer, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var found []string
	switch v := p.verb(words[0]); {
	case len(words) == 1 || words[0] == "help" && len(words) == 2:
		for _, v := range p.Verbs {
			found = append(found, v.Name)
		}
		if len(words) == 1 {
			found = append(found, "completion", "help")
		}
	case words[0] == "completion" && len(words) == 2:
		found = []string{"bash", "zsh", "fish"}
	case v != nil && strings.HasPrefix(last, "-"):
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		v.Prepare(flags)
		flags.VisitAll(func(f *flag.Flag) { found = append(found, "-"+f.Name) })
		last = "-" + strings.TrimLeft(last, "-")
	}
	found = slices.DeleteFunc(found, func(word string) bool { return !strings.HasPrefix(word, last) })
	for _, word := range found {
		if _, err := fmt.Fprintln(out, word); err != nil {
			return err
		}
	}
	return nil
}
