// Package script is the language of scripted agents: lines of an input describe the steps that
// the agent executes. The package is pure and imports only the standard library.
//
// Neighbours: enginetest plays scripts as an agent, in process or as a program; modeltest plays
// them as the model behind a real agent.
package script

import (
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Step is one step: a word and its arguments.
//
//	say TEXT       an intermediate message
//	delta TEXT     a piece of the final text
//	final TEXT     the final text
//	done TEXT      the final text, with the done marker
//	ask PROMPT     the final text is an ask_user question
//	output JSON    structured output
//	note TEXT      does nothing
//	recall         the final text is all notes in the session's inputs, and all lines that are not steps
//	in DIR         sets the folder for files (absolute path); initially the artifact folder
//	touch NAME     makes the file NAME in the folder
//	await NAME     waits for the file NAME in the folder
//	fail TEXT      the turn fails
//	flood N        sends N intermediate messages
//	hang           waits until the turn is canceled
//
// Only a program has these:
//
//	pid NAME       writes the process number to the file NAME
//	ignoreterm     ignores TERM
//	spawn NAME     starts a process in the agent's group that ignores TERM, and writes its number to NAME
//	detach NAME    like spawn, but the process leaves the group and holds the output open
//	exit N         ends the process with status N
//	crash          kills its own process
//	late NAME      writes another final text and turn_end after the turn's end; then makes the file NAME in the folder
//	stderr TEXT    writes to the error output
//	raw TEXT       writes TEXT as it is
//	long N         writes a line of N bytes
//	grow N         allocates N bytes more of memory
//	tool TEXT      prints a tool's result with TEXT, not the agent's own text
//	args           the final text is the arguments and the environment, as JSON
//
// Only a function has this:
//
//	panic TEXT     panics
//
// A model (package modeltest) has tool, raw and others.
//
// A TEXT that begins with a quotation mark is a Go string literal.
type Step struct{ Word, Rest string }

// DoneMarker is the marker of the step done, on a separate line; the same as
// interaction.DoneMarker.
const DoneMarker = "__SKILL_DONE__"

// mark begins each step's line. Other lines are ignored, so that the library may add instructions
// to an input.
const mark = "::"

// Script returns an input with the steps.
func Script(steps ...string) string {
	var b strings.Builder
	for _, s := range steps {
		b.WriteString(mark + " " + s + "\n")
	}
	return b.String()
}

// Steps parses an input.
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
		if word != "" {
			steps = append(steps, Step{word, rest})
		}
	}
	return steps
}

// Recall returns the text of the step recall in a session with these inputs.
func Recall(inputs []string) string {
	var all []string
	for _, in := range inputs {
		for line := range strings.Lines(in) {
			line = strings.TrimSpace(line)
			if steps := Steps(line); len(steps) > 0 && steps[0].Word == "note" {
				all = append(all, steps[0].Rest)
			} else if line != "" && !strings.HasPrefix(line, mark) {
				all = append(all, line)
			}
		}
	}
	return strings.Join(all, " | ")
}

// Notes returns the text of recall when the inputs also contain others' text: notes only.
func Notes(inputs []string) string {
	var all []string
	for _, in := range inputs {
		for _, s := range Steps(in) {
			if s.Word == "note" {
				all = append(all, s.Rest)
			}
		}
	}
	return strings.Join(all, " | ")
}

// Ask returns the text of a question, in the form that agents are taught.
func Ask(prompt string) string {
	body, _ := json.Marshal(map[string]any{"ask_user": map[string]string{"kind": "open_text", "prompt": prompt}})
	return string(body)
}

var signal = regexp.MustCompile(DoneMarker + ":([a-z2-7]{12})")

// Nonce returns the newest nonce that the inputs request for signals; empty if none.
func Nonce(inputs []string) string {
	for _, in := range slices.Backward(inputs) {
		if all := signal.FindAllStringSubmatch(in, -1); len(all) > 0 {
			return all[len(all)-1][1]
		}
	}
	return ""
}

// Reply returns a person's text from an input that adds a note with the nonce.
func Reply(input string) string {
	reply, _, _ := strings.Cut(input, "\n\n[This note is not the person's.")
	return reply
}

// Signed puts the nonce into the markers and JSON blocks of the text.
func Signed(text, nonce string) string {
	if nonce == "" {
		return text
	}
	text = strings.ReplaceAll(text, DoneMarker+"\n", DoneMarker+":"+nonce+"\n")
	return strings.ReplaceAll(text, "```json\n", "```json "+nonce+"\n")
}

const pollInterval = 2 * time.Millisecond

// AwaitFile waits until the file exists. It polls, since not every system reports new files.
func AwaitFile(ctx context.Context, path string) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
