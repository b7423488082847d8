package interaction

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/interlude-go/interlude/fsm"
)

// PromptParts are the parts of a run's full prompt.
type PromptParts struct {
	Task         string
	Mode         fsm.Mode
	ArtifactDir  string // where artifacts go; empty: the run has no folders
	OutputSchema []byte // nil: none declared
	Nonce        string // of the agent's signals in interactive mode; empty: they have none
}

// patchBegin and patchEnd mark the text that Patch adds, so that a later Patch finds it.
const (
	patchBegin = patchMarks + "begin -->"
	patchEnd   = patchMarks + "end -->"
)

// Patch is the full prompt: the task, then where artifacts go, then the instructions of the mode,
// then the output schema, always in this order (H3). It is idempotent: the patch of a task that was
// patched before is replaced. An auto prompt holds nothing of the interactive part (H1, H2).
func Patch(p PromptParts) string {
	task := strings.TrimSpace(removePatches(p.Task))
	mode := interactiveText
	block := "fenced json block"
	switch {
	case p.Mode == fsm.ModeAuto:
		mode = autoText
	case p.Nonce != "":
		mode = strings.ReplaceAll(signedText, "NONCE", p.Nonce)
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

const interactiveText = `## Working with a person
When you need a decision, an approval or a fact that only a person has, ask, and end your turn. Ask at most one question a turn, as the last thing you write, in this form:

<ASK_USER_YAML>
ask_user:
  kind: choose_one            # choose_one, confirm, fill_fields, open_text or risk_ack
  prompt: Which region?       # required, as is kind
  options:                    # optional
    - label: Frankfurt
      value: fra
  ui_hints: {}                # optional
  default_decision_policy: engine_judgement   # engine_judgement, safe_default or abort: how you decide if nobody replies
</ASK_USER_YAML>

The reply comes as free text, whatever the kind. Understand it as a person would; never demand JSON or any other form.

When the whole task is done, and only then, write this on a line of its own at the end of your final message:

` + DoneMarker

// RepairText tells an agent that its output is not valid, and why, and asks for a valid one, with
// the nonce of the attempt if it has one.
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

// patchMarks is how both marks of a patch begin.
const patchMarks = "<!-- interlude:"

// removePatches removes what an earlier Patch added to the task: each pair of marks, and the text
// between them. A mark without its counterpart stays. Each byte is read once, whatever the task
// holds.
func removePatches(task string) string {
	if !strings.Contains(task, patchEnd) {
		return task
	}
	var kept []byte
	var begins []int // positions in kept of the marks that have no end yet
	gap := false
	keep := func(text string) {
		if gap && text != "" && !unicode.IsSpace(rune(text[0])) {
			kept = append(kept, "\n\n"...) // the two parts must not form a word, or a mark, together
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

// escapeMarks writes a JSON schema so that it holds no mark of a patch. "<" stands only in strings
// of the schema, where it may be escaped.
func escapeMarks(schema []byte) string {
	return strings.ReplaceAll(strings.TrimSpace(string(schema)), patchMarks, `\u003c`+patchMarks[1:])
}
