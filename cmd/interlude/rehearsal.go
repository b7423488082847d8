package main

import (
	"encoding/json"
	"github.com/interlude-go/interlude/cmd/internal/command"
	"regexp"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/interaction"
)

const (
	scriptedModel = "modeltest"
	noKey         = "no-key-is-needed"
)

// rehearse starts the scripted model, with -offline.
func (j *job) rehearse(d *death) (err error) {
	if !j.offline {
		return nil
	}
	d.modeled = true
	j.server, err = modeltest.Start(modeltest.Config{Model: scriptedModel,
		Answer: func(c modeltest.Conversation) modeltest.Answer {
			return rehearsed(c, d)
		}})
	return err
}

// rehearsed is the answer of the scripted model. It knows only the agent's request: the task and
// the replies so far come from the session's history. If the session were lost, it would ask from
// the start.
func rehearsed(c modeltest.Conversation, d *death) modeltest.Answer {
	c.Messages = slices.DeleteFunc(slices.Clone(c.Messages), func(m modeltest.Message) bool {
		// Claude Code sends this for a tool without output.
		return m.Role == modeltest.User && strings.TrimSpace(m.Text) == "(no content)"
	})
	a := recalled(c)
	said := modeltest.Answer{Pieces: []modeltest.Piece{{Text: a.remark()}}}
	calls := []*modeltest.Call{c.Nothing()} // makes the agent store the remark and call the model again
	if file := a.file(); file != "" && a.next() == nil {
		calls = append(calls, writing(c, file, a.greeting()+"\n"))
	}
	done := 0
	for _, call := range calls {
		if call == nil {
			continue // the agent does not offer this tool
		}
		if done++; done > len(c.Results()) {
			if done > 1 {
				said.Pieces = nil
			}
			said.Call = call
			return said
		}
	}
	if d.when == killRunning {
		d.strike()
		return modeltest.Answer{End: modeltest.Hang}
	}
	return modeltest.Text(a.final())
}

func writing(c modeltest.Conversation, file, text string) *modeltest.Call {
	if call := c.Write(file, text); call != nil {
		return call
	}
	return c.Shell("printf %s " + command.Quote(text) + " >" + command.Quote(file))
}

var (
	artifactFolder = regexp.MustCompile(`Write every file that is a result of your work into this folder: (.+)`)
	outputSchema   = regexp.MustCompile("(?s)```json-schema\n(.*?)\n```")
)

const workingAlone = "## Working alone"

func recalled(c modeltest.Conversation) act {
	a := act{nonce: script.Nonce(c.Users())}
	question := -1 // the last one asked
	for _, m := range c.Messages {
		switch m.Role {
		case modeltest.Assistant:
			for i := range asked {
				if strings.Contains(m.Text, asked[i].Prompt) {
					question = i
				}
			}
		case modeltest.User:
			if found := artifactFolder.FindStringSubmatch(m.Text); found != nil {
				a.folder = strings.TrimSpace(found[1])
			}
			if found := outputSchema.FindStringSubmatch(m.Text); found != nil {
				a.schema = []byte(found[1])
			}
			a.alone = a.alone || strings.Contains(m.Text, workingAlone)
			if question >= 0 && question <= len(a.given) {
				a.given = append(a.given[:question], script.Reply(m.Text)) // replaces the copy of a repeated turn
			}
		case modeltest.ToolCall, modeltest.ToolResult:
		}
	}
	return a
}

// final is the last text of a turn, in the form that the prompt demands.
func (a act) final() string {
	if q := a.next(); q != nil {
		body, _ := json.Marshal(map[string]any{"kind": q.Kind, "prompt": q.Prompt, "options": q.Options})
		if a.nonce != "" {
			return "```ask_user " + a.nonce + "\nask_user: " + string(body) + "\n```\n"
		}
		return "<ASK_USER_YAML>\nask_user: " + string(body) + "\n</ASK_USER_YAML>"
	}
	output, err := a.output()
	if err != nil {
		return "The output's schema cannot be read: " + err.Error()
	}
	text := a.greeting() + "\n\n```json\n" + string(output) + "\n```\n"
	if !a.alone {
		text += "\n" + interaction.DoneMarker + "\n"
	}
	return script.Signed(text, a.nonce)
}
