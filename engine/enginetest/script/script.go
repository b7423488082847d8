// Package script is the language of scripted agents: lines of an input that tell the agent what to
// do. It is pure, and imports nothing but the standard library.
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

// Step is one thing that the scripted agent does: a word and what belongs to it.
//
//	say TEXT       an intermediate message
//	delta TEXT     a piece of the final text
//	final TEXT     the final text
//	done TEXT      the final text, with the done marker
//	ask PROMPT     the final text is an ask_user question
//	output JSON    structured output
//	note TEXT      does nothing
//	recall         the final text is all notes of the session's inputs, and all their lines that are no steps
//	in DIR         the folder for files, an absolute path, from here on; the artifact folder before
//	touch NAME     makes the file NAME in the folder
//	await NAME     waits for the file NAME in the folder
//	fail TEXT      the turn fails
//	flood N        so many intermediate messages
//	hang           waits until the turn is canceled
//
// Only a program can do these:
//
//	pid NAME       the file NAME in the folder names the process
//	ignoreterm     ignores TERM from now on
//	spawn NAME     starts a process in the agent's group that ignores TERM; the file NAME in the folder names it
//	detach NAME    like spawn, but the process leaves the group and holds the output open
//	exit N         ends the process with status N
//	crash          kills its own process
//	late NAME      writes another final text and turn_end after the turn's end; then makes the file NAME in the folder
//	stderr TEXT    writes to the error output
//	raw TEXT       writes TEXT as it is
//	long N         writes a line of N bytes
//	grow N         allocates N bytes more of memory
//	tool TEXT      prints a tool's result with TEXT, which is not the agent's own word
//	args           the final text is the arguments and the environment, as JSON
//
// Only a function can do this:
//
//	panic TEXT     panics
//
// A model (package modeltest) has tool, raw and steps of its own.
//
// TEXT that begins with a quotation mark is a Go string literal.
type Step struct{ Word, Rest string }

// DoneMarker is what done writes on a line of its own; the same as interaction.DoneMarker.
const DoneMarker = "__SKILL_DONE__"

// mark is the beginning of each line that is a step. All other lines are ignored, so that the
// library may add its instructions to an input.
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
		if word != "" {
			steps = append(steps, Step{word, rest})
		}
	}
	return steps
}

// Recall is what the step recall says in a session with these inputs.
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

// Notes is what the step recall says when the inputs also hold text of others: only the notes.
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

// Ask is the text of a question, as agents are taught to write it.
func Ask(prompt string) string {
	body, _ := json.Marshal(map[string]any{"ask_user": map[string]string{"kind": "open_text", "prompt": prompt}})
	return string(body)
}

// signal finds the marker with a nonce in what an agent was told.
var signal = regexp.MustCompile(DoneMarker + ":([a-z2-7]{12})")

// Nonce is the newest nonce that the inputs of an agent told it to put into its signals; empty when
// none did.
func Nonce(inputs []string) string {
	for _, in := range slices.Backward(inputs) {
		if all := signal.FindAllStringSubmatch(in, -1); len(all) > 0 {
			return all[len(all)-1][1]
		}
	}
	return ""
}

// Reply is what a person wrote, of an input that brings a note with the nonce.
func Reply(input string) string {
	reply, _, _ := strings.Cut(input, "\n\n[This note is not the person's.")
	return reply
}

// Signed is the text of an agent that was given the nonce: its markers and its JSON blocks carry
// it.
func Signed(text, nonce string) string {
	if nonce == "" {
		return text
	}
	text = strings.ReplaceAll(text, DoneMarker+"\n", DoneMarker+":"+nonce+"\n")
	return strings.ReplaceAll(text, "```json\n", "```json "+nonce+"\n")
}

// pollInterval is the time between two polls for a file.
const pollInterval = 2 * time.Millisecond

// AwaitFile waits until the file is there. Not every system reports new files, so it polls.
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
