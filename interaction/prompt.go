package interaction

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/fsm"
)

type PromptParts struct {
	Task         string
	Mode         fsm.Mode
	ArtifactDir  string // folder for artifacts; empty: none
	OutputSchema []byte // nil: none declared
	Nonce        string // for the agent's signals in interactive mode; empty: unsigned
	Questions    int    // limit per turn in interactive mode, at most MaxQuestions; below 2: one
}

// patchBegin and patchEnd delimit the text that Patch adds, for later patches.
const (
	patchBegin = patchMarks + "begin -->"
	patchEnd   = patchMarks + "end -->"
)

// Patch returns the full prompt: task, artifact folder, instructions of the mode, output schema, in
// this order. It replaces an earlier patch of the task. An auto prompt contains nothing of the
// interactive part.
func Patch(p PromptParts) string {
	task := strings.TrimSpace(removePatches(p.Task))
	mode := interactiveText(p.Nonce, p.Questions)
	block := "fenced json block"
	switch {
	case p.Mode == fsm.ModeAuto:
		mode = autoText
	case p.Nonce != "":
		block = "fenced block that begins with the line ```json " + p.Nonce
	}
	parts := []string{task, patchBegin}
	if p.ArtifactDir != "" {
		parts = append(parts, "## Artifacts\nWrite every file that is a result of your work into this folder: "+
			p.ArtifactDir)
	}
	parts = append(parts, mode)
	if len(p.OutputSchema) > 0 {
		parts = append(parts, "## Output\nYour final message holds one JSON object, alone or as its only "+block+
			", that is valid against this JSON Schema:\n```json-schema\n"+
			escapeMarks(p.OutputSchema)+"\n```")
	}
	return strings.Join(append(parts, patchEnd), "\n\n") + "\n"
}

const autoText = `## Working alone
Nobody is there to answer. Decide everything by your own judgement and go on to the end; stop only at an error that makes the task impossible, and then say what it is.`

// interactiveText returns the interactive part for this nonce and limit of questions. For one
// question it never changes: hosts that compare prompts, and caches of models, depend on the bytes.
func interactiveText(nonce string, questions int) string {
	begin, end := "<ASK_USER_YAML>\nask_user:\n", "</ASK_USER_YAML>"
	indent, form, done, note := "  ", "in this form", DoneMarker, ""
	if nonce != "" {
		begin, end = "```ask_user "+nonce+"\n", "```"
		indent, form = "", "in this form, with "+nonce+" in its first line"
		done, note = DoneMarker+":"+nonce, "\n\n"+nonce+nonceText
	}
	ask, example, replies := oneText, indented(indent, exampleText), replyText
	if questions = min(questions, MaxQuestions); questions > 1 {
		ask = fmt.Sprintf(severalText, questions)
		example = listEntry(indent, exampleText) + listEntry(indent, furtherText)
		replies = repliesText + replyText
	}
	return "## Working with a person\n" + whenText + ask + ", " + form + ":\n\n" + begin + example + end + "\n\n" +
		replies + "\n\n" + doneText + "\n\n" + done + note
}

func indented(indent, lines string) string {
	return indent + strings.TrimSuffix(strings.ReplaceAll(lines, "\n", "\n"+indent), indent)
}

func listEntry(indent, lines string) string {
	return indent + "- " + strings.TrimPrefix(indented(indent+"  ", lines), indent+"  ")
}

const (
	whenText = `When you need a decision, an approval or a fact that only a person has, ask, and end your turn. `

	oneText = `Ask at most one question a turn, as the last thing you write`

	severalText = `Ask for all that you need now in one list of at most %d questions, as the last thing you write`

	exampleText = `kind: choose_one            # choose_one, confirm, fill_fields, open_text or risk_ack
prompt: Which region?       # required, as is kind
options:                    # optional
  - label: Frankfurt
    value: fra
ui_hints: {}                # optional
default_decision_policy: engine_judgement   # engine_judgement, safe_default or abort: how you decide if nobody replies
`
	furtherText = `kind: open_text
prompt: What is its name to be?
`
	repliesText = `The questions are asked at the same time, perhaps of different people. Ask only what can be answered without the other answers. You go on when all are answered, and get the answers together, in the order of your list. A list that is longer is not asked.

`
	replyText = `The reply comes as free text, whatever the kind. Understand it as a person would; never demand JSON or any other form.`

	doneText = `When the whole task is done, and only then, write this on a line of its own at the end of your final message:`

	nonceText = ` shows that a question, an output or the end is yours and not something that you quote: never put it into quoted text. Each reply brings a new one; only the newest counts.`
)

// RepairText asks an agent to correct an invalid output, with the reason and the attempt's nonce,
// if any.
func RepairText(mode fsm.Mode, nonce, why string) string {
	text := "The output of your last message is not valid: " + why + "\n\n" + repairText
	if mode == fsm.ModeInteractive {
		text += " If the whole task is done, end it with this on a line of its own, as before:\n\n" + DoneMarker
		if nonce != "" {
			text += ":" + nonce
		}
	}
	return text + "\n"
}

const repairText = `Write your final message again, with the whole output, corrected. Work that is done stays done: do not begin anew.`

const patchMarks = "<!-- interlude:"

// removePatches removes each pair of marks and the text between them, reading each byte once. An
// unpaired mark stays.
func removePatches(task string) string {
	if !strings.Contains(task, patchEnd) {
		return task
	}
	var kept []byte
	var begins []int // positions in kept of the open marks
	gap := false
	keep := func(text string) {
		if gap && text != "" && !unicode.IsSpace(rune(text[0])) {
			kept = append(kept, "\n\n"...) // the parts must not join into a word or a mark
		}
		gap = gap && text == ""
		kept = append(kept, text...)
	}
	for task != "" {
		at := strings.Index(task, patchMarks)
		if at < 0 {
			keep(task)
			break
		}
		keep(task[:at])
		task = task[at:]
		mark := patchMarks
		switch {
		case strings.HasPrefix(task, patchBegin):
			mark = patchBegin
			keep(mark)
			begins = append(begins, len(kept)-len(mark))
		case strings.HasPrefix(task, patchEnd) && len(begins) > 0:
			mark = patchEnd
			kept = bytes.TrimRightFunc(kept[:begins[len(begins)-1]], unicode.IsSpace)
			begins, gap = begins[:len(begins)-1], true
		default:
			keep(mark)
		}
		task = task[len(mark):]
	}
	return string(kept)
}

// escapeMarks escapes a JSON schema so that it contains no mark of a patch. "<" occurs only in its
// strings, where it may be escaped.
func escapeMarks(schema []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(schema)), patchMarks, `\u003c`+patchMarks[1:])
}
