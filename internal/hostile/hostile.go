// Package hostile has the texts with which tests check that no front end hides a part of what
// agents and people wrote, or shows one text as another.
//
// Neighbours: interaction has the table of characters; proof/page and cmd/internal/console
// enumerate the front ends.
package hostile

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/interaction"
)

// tail has a space that stays single in prose, a character that turns the direction of others, a
// tag, and a letter that is drawn as nothing.
const tail = "\u00a0a\u202eb\U000e0041c\u3164d"

// Text returns a text that begins with the word.
func Text(word string) string { return word + tail }

var (
	named  = `(?:\\u\{00A0\}|\\u00a0|U\+00A0)`
	rest   = `a(?:\\u\{202E\}|\\u202e|U\+202E)b(?:\\u\{E0041\}|\\udb40\\udc41|U\+E0041)c(?:\\u\{3164\}|\\u3164|U\+3164)d`
	styles = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x1b[78=>]|\r")
)

// Check returns an error if a front end has shown a hidden character, or has not shown the texts of
// these words as it must: the first group exactly, the second as prose.
func Check(shown string, exact, prose []string) error {
	shown = styles.ReplaceAllString(shown, "")
	for _, r := range shown {
		kind := interaction.CharacterOf(r)
		if kind&interaction.Hidden != 0 && kind&interaction.SingleSpace == 0 {
			return fmt.Errorf("U+%04X is not shown by its name in %q", r, shown)
		}
	}
	for _, word := range exact {
		if !regexp.MustCompile(word+named+rest).MatchString(shown) || strings.Contains(shown, word+"\u00a0") {
			return fmt.Errorf("%s is not shown character by character in %q", word, shown)
		}
	}
	for _, word := range prose {
		if !regexp.MustCompile(word + "(?:\u00a0|" + named + ")" + rest).MatchString(shown) {
			return fmt.Errorf("%s is not shown in %q", word, shown)
		}
	}
	return nil
}

// Case is a question with hostile texts wherever an agent can write one.
type Case struct {
	ID       string // of its run
	Question interaction.Question
	// Exact are the words of the texts of which each character counts, Prose of the others.
	Exact, Prose []string
}

// Cases returns a question of each form.
func Cases() []Case {
	about := interaction.Question{Prompt: Text("prompt"), Context: Text("context")}
	call, choice, named, form := about, about, about, about
	call.Kind = interaction.Approval
	call.Subject = &interaction.Subject{Tool: Text("tool"), Title: Text("heading"), Risk: Text("danger"),
		Arguments: fmt.Appendf(nil, `{"%s":"%s"}`, Text("argument"), Text("value"))}
	choice.Kind = interaction.ChooseOne
	choice.Options = []interaction.Option{{Label: Text("label"), Value: Text("option")}, {Label: Text("alike"),
		Value: Text("alike")}}
	named.Kind, named.RequiredFields = interaction.OpenText, []string{Text("field")}
	form.Kind = interaction.FillFields
	form.Schema = fmt.Appendf(nil, `{"type":"object","required":["%s","t"],"properties":{"%s":{"enum":["%s","x"]},
		"t":{"title":"%s","description":"%s","type":"boolean"}}}`, Text("member"), Text("member"), Text("listed"),
		Text("caption"), Text("remark"))
	return []Case{
		{"call", call, []string{"tool", "argument", "value"}, []string{"prompt", "context", "heading", "danger"}},
		{"choice", choice, []string{"option"}, []string{"prompt", "context", "label", "alike"}},
		{"named", named, []string{"field"}, []string{"prompt", "context"}},
		{"form", form, []string{"member", "listed"}, []string{"prompt", "context", "caption", "remark"}},
	}
}
