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

// maxPieces bounds the pieces of one answer.
const maxPieces = 100_000

// ByScript is what the model answers to the steps in the last text of the user. The steps up to a
// call of a tool are one answer; when the tool's result comes, the steps after it are the next.
// Without a text in them it answers "ok", for no agent expects silence.
//
// Beside the steps of script.Step that everybody knows (of which say is a text and a call of a tool
// that does nothing, so that the agent tells the text at once and comes back; fail may begin with
// an HTTP status, otherwise 400, which agents do not try again; flood is so many pieces of the
// text; touch and await are done by the model itself; output is put after the text, in a fence,
// when there is one):
//
//	tool CMD         calls the agent's shell
//	write PATH TEXT  calls the agent's tool that writes files
//	result           the final text is what the last tool said
//	slow N           sends the text of the steps that follow in N pieces, with a pause before each
//	raw TEXT         writes TEXT into the response as it is
//	drop             cuts the connection
//	cut              ends the response before the answer's end
//	first N STEP     does STEP when the model is asked the same for the first N times: an agent that tries again gets on
//
// A nonce that the user's texts tell of stands in markers and JSON blocks.
//
// recall says the notes only: whatever else stands in the user's texts may be the agent's own.
func ByScript(c Conversation, pause time.Duration) Answer {
	p := player{c: c, pause: pause, answered: len(c.Results()), slow: 1}
	for _, s := range script.Steps(c.Last()) {
		if s.Word == "first" {
			var ok bool
			if s, ok = p.first(s.Rest); !ok {
				continue
			}
		}
		if p.step(s) {
			return p.a
		}
	}
	if !p.worded {
		p.text("ok")
	}
	return p.a
}

// player makes an answer of steps.
type player struct {
	c        Conversation
	pause    time.Duration
	answered int // calls of tools that have their result already
	dir      string
	slow     int
	a        Answer
	worded   bool // a text or raw bytes are part of the answer

}

// step does one; it reports whether it ends the answer.
func (p *player) step(s script.Step) bool {
	if s.Word == "in" { // counts for all answers
		p.dir = s.Rest
		return false
	}
	if call := p.call(s); call != nil {
		if p.answered--; p.answered >= 0 {
			p.a, p.worded = Answer{}, false // was answered before
			return false
		}
		p.a.Call = call
		return true
	}
	if p.answered > 0 {
		return false // in an answer before
	}
	switch s.Word {
	case "say": // no tool to come back from
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
		if p.worded || p.nonce() != "" {
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
		p.before(func(context.Context) error { return p.touch(s.Rest) })
	case "await":
		p.before(func(ctx context.Context) error { return p.await(ctx, s.Rest) })
	case "slow":
		p.slow = min(max(1, number(s.Rest)), maxPieces)
	case "flood":
		for i := range min(number(s.Rest), maxPieces) {
			// agents end what repeats itself
			p.text(fmt.Sprintf("wave %d %x\n", i, sha256.Sum256([]byte{byte(i), byte(i >> 8)})))
		}
	case "raw":
		p.a.Pieces, p.worded = append(p.a.Pieces, Piece{Raw: s.Rest}), true
	case "fail":
		p.a.Failure = failure(s.Rest)
		return true
	case "hang":
		p.a.End = Hang
		return true
	case "drop":
		p.a.End = Drop
		return true
	case "cut":
		p.a.End = Cut
		return true
	case "note":
	default:
		p.a.Failure = &Failure{Status: 400, Message: "modeltest: the model does not know the step " + s.Word}
		return true
	}
	return false
}

// first reads N STEP; ok is false when the model was asked more often.
func (p *player) first(rest string) (s script.Step, ok bool) {
	n, step, _ := strings.Cut(rest, " ")
	steps := script.Steps(script.Script(step))
	if len(steps) != 1 || p.c.Asked >= number(n) {
		return s, false
	}
	return steps[0], true
}

// call is the call that the step makes, nil when it makes none.
func (p *player) call(s script.Step) *Call {
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

// nonce is what the agent's signals are to carry, by the newest of its inputs.
func (p *player) nonce() string { return script.Nonce(p.c.Users()) }

// ask is the text of a question.
func (p *player) ask(prompt string) string {
	if p.nonce() == "" {
		return script.Ask(prompt)
	}
	return "```json\n" + script.Ask(prompt) + "\n```\n"
}

// text adds a piece of text, or as many as are to be sent slowly.
func (p *player) text(text string) {
	p.worded = true
	text = script.Signed(text, p.nonce())
	if p.slow == 1 {
		p.a.Pieces = append(p.a.Pieces, Piece{Text: text})
		return
	}
	letters := []rune(text)
	for i := range p.slow {
		from, to := i*len(letters)/p.slow, (i+1)*len(letters)/p.slow
		p.a.Pieces = append(p.a.Pieces, Piece{Pause: p.pause, Text: string(letters[from:to])})
	}
}

// final replaces the text so far.
func (p *player) final(text string) {
	for i := range p.a.Pieces {
		p.a.Pieces[i].Text = ""
	}
	p.text(text)
}

func (p *player) before(do func(context.Context) error) {
	p.a.Pieces = append(p.a.Pieces, Piece{Before: do})
}

// path is a file in the script's folder.
func (p *player) path(name string) (string, error) {
	if !filepath.IsAbs(p.dir) {
		return "", fmt.Errorf("modeltest: say in which folder: a step before that says in DIR, an absolute path, is "+
			"missing (%q)", p.dir)
	}
	return filepath.Join(p.dir, filepath.Base(name)), nil
}

// touch makes the file, at once.
func (p *player) touch(name string) error {
	path, err := p.path(name)
	if err == nil {
		err = os.WriteFile(path, nil, 0o600)
	}
	return err
}

// look is between two looks at what tells nobody when it changes.
const look = 5 * time.Millisecond

// await waits for the file.
func (p *player) await(ctx context.Context, name string) error {
	path, err := p.path(name)
	if err != nil {
		return err
	}
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// failure reads [STATUS] TEXT.
func failure(rest string) *Failure {
	first, text, _ := strings.Cut(rest, " ")
	if status, err := strconv.Atoi(first); err == nil && status >= 400 && status <= 599 {
		return &Failure{status, text}
	}
	return &Failure{400, rest}
}

// number is a count, 0 when it is none.
func number(s string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(s))
	return n
}
