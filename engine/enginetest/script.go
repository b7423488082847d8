package enginetest

import (
	"strconv"
	"strings"
)

// Step is one thing that the scripted agent does: a word and what belongs to it.
//
//	say TEXT       an intermediate message
//	delta TEXT     a piece of the final text
//	final TEXT     the final text
//	done TEXT      the final text, with the done marker
//	ask PROMPT     the final text is an ask_user question
//	output JSON    structured output
//	note TEXT      does nothing
//	recall         the final text is all that the session was told, one after another: each note, and each line that is no step
//	touch NAME     makes the file NAME in the artifact folder
//	await NAME     waits for the file NAME in the artifact folder
//	fail TEXT      the turn fails
//	flood N        so many intermediate messages
//	hang           never ends
//
// Only a program can do the others:
//
//	pid NAME       the file NAME in the artifact folder names the process
//	deaf           ignores TERM from now on
//	spawn NAME     starts a deaf process in the agent's group; the file NAME in the artifact folder names it
//	stray NAME     starts a deaf process that leaves the group and holds the output open
//	exit N         ends the process with status N
//	crash          kills its own process
//	chatter NAME   a late final text and turn_end after the turn's end; then makes the file NAME in the artifact folder
//	stderr TEXT    writes to the error output
//	raw TEXT       writes TEXT as it is
//	long N         writes a line of N bytes
//	args           the final text is the arguments and the environment, as JSON
//
// TEXT that begins with a quotation mark is a Go string literal.
type Step struct{ Word, Rest string }

// mark begins a line of an input that is a step; all other lines are passed over, so that an input may be patched.
const mark = "::"

// Script is an input that tells the agent to do the steps.
func Script(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(mark + " " + s + "\n")
	}
	return b.String()
}

// Steps reads an input.
func Steps(input string) []Step {
	var steps []Step
	for line := range strings.Lines(input) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), mark)
		if !ok {
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if text, err := strconv.Unquote(rest); err == nil {
			rest = text
		}
		steps = append(steps, Step{word, rest})
	}
	return steps
}

// told is what recall says.
func told(inputs []string) string {
	var all []string
	for _, in := range inputs {
		for line := range strings.Lines(in) {
			line = strings.TrimSpace(line)
			if note, ok := strings.CutPrefix(line, mark+" note "); ok {
				all = append(all, note)
			} else if line != "" && !strings.HasPrefix(line, mark) {
				all = append(all, line)
			}
		}
	}
	return strings.Join(all, " | ")
}
