package modeltest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine/enginetest/script"
)

const maxPieces = 100_000

// ByScript answers by the steps in the user's last text. The steps up to a tool call are one
// answer; after the tool's result, the following steps are the next. Steps without a text are
// answered with "ok", since no agent expects an empty answer.
//
// Some steps of script.Step differ here. say is a text and a call of a tool that does nothing, so
// that the agent shows the text and asks again. fail may begin with an HTTP status; the default is
// 400, after which agents do not retry. flood sends that many pieces of text. The model itself
// performs touch and await. output sends the text, if any, and then the output in a code fence.
// Additional steps:
//
//	tool CMD         calls the agent's shell
//	write PATH TEXT  calls the agent's tool that writes files
//	result           the final text is the last tool's result
//	slow N           sends the following steps' text in N pieces, each after a pause
//	raw TEXT         writes TEXT into the response unchanged
//	drop             cuts the connection
//	cut              ends the response before the answer's end
//	first N STEP     does STEP for the first N identical requests: a retry succeeds
//
// If the user's texts name a nonce, markers and JSON blocks carry it.
//
// An agent may ask for the rest of an incomplete answer, with the end of the received part. It gets
// the rest of the script's text.
//
// recall repeats only notes, since other parts of the user's texts may be the agent's.
func ByScript(c Conversation, pause time.Duration) Answer {
	if before, got, ok := c.brokenOff(); ok {
		return ByScript(before, pause).after(got)
	}
	p := interpreter{c: c, pause: pause, answered: len(c.Results()), slow: 1}
	for _, s := range script.Steps(c.Last()) {
		if s.Word == "first" {
			var ok bool
			if s, ok = p.first(s.Rest); !ok {
				continue
			}
		}
		if p.step(s) {
			return p.answer
		}
	}
	if !p.hasText {
		p.text("ok")
	}
	return p.answer
}

// brokenOff reports whether the agent asks for the rest of an incomplete answer, as Qwen Code does
// from 0.24. It returns the conversation before that answer and the received part.
func (c Conversation) brokenOff() (before Conversation, got string, ok bool) {
	n := len(c.Messages)
	if n < 3 || c.Messages[n-1].Role != User || c.Messages[n-2].Role != Assistant ||
		!strings.Contains(c.Messages[n-1].Text, "<previous_response_suffix>") {
		return c, "", false
	}
	before = c
	before.Messages, before.Asked = c.Messages[:n-2], c.Asked+1
	return before, c.Messages[n-2].Text, true
}

// after removes the received part from the answer.
func (a Answer) after(got string) Answer {
	for i := range a.Pieces {
		p := &a.Pieces[i]
		shared := min(len(p.Text), len(got))
		if p.Text[:shared] != got[:shared] {
			break
		}
		p.Text, got = p.Text[shared:], got[shared:]
	}
	return a
}

// interpreter builds an answer from steps.
type interpreter struct {
	c        Conversation
	pause    time.Duration
	answered int // tool calls that already have a result
	dir      string
	slow     int
	answer   Answer
	hasText  bool // the answer contains text or raw bytes

}

// step executes one step, and reports whether it ends the answer.
func (p *interpreter) step(s script.Step) bool {
	if s.Word == "in" { // for all answers, in any order
		p.dir = s.Rest
		return false
	}
	if call := p.call(s); call != nil {
		if p.answered--; p.answered >= 0 {
			p.answer, p.hasText = Answer{}, false // an earlier answer made this call
			return false
		}
		p.answer.Call = call
		return true
	}
	if p.answered > 0 {
		return false // an earlier answer contained this step
	}
	switch s.Word {
	case "say": // the agent offers no tool without effects
		p.text(s.Rest + "\n\n")
	case "delta":
		p.text(s.Rest)
	case "final":
		p.final(s.Rest)
	case "done":
		p.final(s.Rest + "\n" + script.DoneMarker + "\n")
	case "ask":
		p.final(p.ask(s.Rest))
	case "output":
		if p.hasText || p.nonce() != "" {
			p.text("\n```json\n" + s.Rest + "\n```\n")
		} else {
			p.text(s.Rest)
		}
	case "recall":
		p.final(script.Notes(p.c.Users()))
	case "result":
		results := p.c.Results()
		p.final(strings.Join(results[max(0, len(results)-1):], ""))
	case "tool", "write":
		p.final("no tool is offered to " + s.Word + " with")
	case "touch":
		p.addBefore(func(context.Context) error { return p.touch(s.Rest) })
	case "await":
		p.addBefore(func(ctx context.Context) error { return p.await(ctx, s.Rest) })
	case "slow":
		p.slow = min(max(1, count(s.Rest)), maxPieces)
	case "flood":
		for i := range min(count(s.Rest), maxPieces) {
			// agents end an answer that repeats itself
			p.text(fmt.Sprintf("wave %d %x\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)})))
		}
	case "raw":
		p.answer.Pieces, p.hasText = append(p.answer.Pieces, Piece{Raw: s.Rest}), true
	case "fail":
		p.answer.Failure = failure(s.Rest)
		return true
	case "hang":
		p.answer.End = Hang
		return true
	case "drop":
		p.answer.End = Drop
		return true
	case "cut":
		p.answer.End = Cut
		return true
	case "note":
	default:
		p.answer.Failure = &Failure{Status: 400, Message: "modeltest: the model does not know the step " + s.Word}
		return true
	}
	return false
}

// first parses N STEP; ok is false after more than N identical requests.
func (p *interpreter) first(rest string) (s script.Step, ok bool) {
	n, step, _ := strings.Cut(rest, " ")
	steps := script.Steps(script.Script(step))
	if len(steps) != 1 || p.c.Asked >= count(n) {
		return s, false
	}
	return steps[0], true
}

func (p *interpreter) call(s script.Step) *Call {
	var call *Call
	switch s.Word {
	case "say":
		if call = p.c.Nothing(); call != nil {
			p.text(s.Rest)
		}
	case "tool":
		call = p.c.Shell(s.Rest)
	case "write":
		path, content, _ := strings.Cut(s.Rest, " ")
		call = p.c.Write(path, content)
	}
	return call
}

// nonce returns the nonce for the agent's signals, from its newest input.
func (p *interpreter) nonce() string { return script.Nonce(p.c.Users()) }

func (p *interpreter) ask(prompt string) string {
	if p.nonce() == "" {
		return script.Ask(prompt)
	}
	return "```json\n" + script.Ask(prompt) + "\n```\n"
}

// text adds a piece of text, or N pieces after "slow N".
func (p *interpreter) text(text string) {
	p.hasText = true
	text = script.Signed(text, p.nonce())
	if p.slow == 1 {
		p.answer.Pieces = append(p.answer.Pieces, Piece{Text: text})
		return
	}
	letters := []rune(text)
	for i := range p.slow {
		from, to := i*len(letters)/p.slow, (i+1)*len(letters)/p.slow
		p.answer.Pieces = append(p.answer.Pieces, Piece{Pause: p.pause, Text: string(letters[from:to])})
	}
}

func (p *interpreter) final(text string) {
	for i := range p.answer.Pieces {
		p.answer.Pieces[i].Text = ""
	}
	p.text(text)
}

func (p *interpreter) addBefore(do func(context.Context) error) {
	p.answer.Pieces = append(p.answer.Pieces, Piece{Before: do})
}

func (p *interpreter) path(name string) (string, error) {
	if !filepath.IsAbs(p.dir) {
		return "", fmt.Errorf("modeltest: say in which folder: a step before that says in DIR, an absolute path, is "+
			"missing (%q)", p.dir)
	}
	return filepath.Join(p.dir, filepath.Base(name)), nil
}

// touch makes the file atomically.
func (p *interpreter) touch(name string) error {
	path, err := p.path(name)
	if err == nil {
		err = os.WriteFile(path, nil, 0o600)
	}
	return err
}

func (p *interpreter) await(ctx context.Context, name string) error {
	path, err := p.path(name)
	if err != nil {
		return err
	}
	return script.AwaitFile(ctx, path)
}

// failure parses [STATUS] TEXT.
func failure(rest string) *Failure {
	first, text, _ := strings.Cut(rest, " ")
	if status, err := strconv.Atoi(first); err == nil && status >= 400 && status <= 599 {
		return &Failure{status, text}
	}
	return &Failure{400, rest}
}

// count parses a number; 0 if invalid.
func count(s string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s))
	return n
}
