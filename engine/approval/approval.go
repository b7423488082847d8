// Package approval formats a call that needs approval so that a person sees all of it: characters
// that a screen would hide are written out, and omissions are counted.
//
// The package is for authors of engines whose agents ask for permissions. Hosts do not call it.
//
// Neighbours: engine/acp, engine/adk and engine/eino ask for permissions with it.
package approval

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/interlude-go/interlude/interaction"
)

// Cut shortens a text to at most limit bytes, which must be at least 100: beginning and end stay,
// with the number of omitted bytes between them. hidden is that number, 0 for a complete text.
func Cut(s string, limit int) (shown string, hidden int) {
	if len(s) <= limit {
		return s, 0
	}
	half := (limit - len(gap(len(s)))) / 2
	head, tail := half, len(s)-half
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + gap(tail-head) + s[tail:], tail - head
}

// Ref is the Ref of a question about the call with this id: the id itself, or its digest if
// unsuitable.
func Ref(id string) string {
	if len(id) <= interaction.MaxRef && utf8.ValidString(id) && !strings.Contains(id, "\x00") {
		return id
	}
	return sum([]byte(id))
}

func gap(n int) string { return fmt.Sprintf("\n[… %d more bytes are not shown …]\n", n) }

// JSON formats JSON for people: visible characters, and <, > and & without escapes. Invalid JSON is
// marked.
func JSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprintf("[cannot be shown: %v]", err)
	}
	return interaction.Visible(strings.TrimSuffix(b.String(), "\n"))
}
