package modeltest

import (
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/engine/enginetest/script"
)

// openings are how agents begin what they put in the user's mouth without a tag around it.
var openings = []string{
	"This is the Qwen Code. We are setting up the context for our chat.",
	"This is the Gemini CLI. We are setting up the context for our chat.",
	"# AGENTS.md instructions for ", // Codex
	"[Request interrupted by user",  // Claude Code, as the next two
	"(no content)",
	resumes,
}

// resumes is all that Claude Code says when it goes on with a turn that did not end.
const resumes = "Continue from where you left off."

var tag = regexp.MustCompile(`^<([A-Za-z][\w-]*)(?: [^<>]*)?>`)

// agentsOwn reports whether a text in the user's name is the agent's: it holds no step, and is one
// or more elements in tags, as <environment_context>, or begins as agents do.
func agentsOwn(text string) bool {
	text = strings.TrimSpace(text)
	if len(script.Steps(text)) > 0 {
		return false
	}
	for _, o := range openings {
		if strings.HasPrefix(text, o) {
			return o != resumes || text == resumes
		}
	}
	for text != "" {
		m := tag.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		closing := "</" + m[1] + ">"
		end := strings.Index(text, closing)
		if end < 0 {
			return false
		}
		text = strings.TrimSpace(text[end+len(closing):])
	}
	return true
}

// unwrapped takes away the quotation marks that opencode puts around a prompt, and before each one
// in it a backslash.
func unwrapped(text string) string {
	t := strings.TrimSpace(text)
	if len(t) < 2 || t[0] != '"' || t[len(t)-1] != '"' {
		return text
	}
	inner := t[1 : len(t)-1]
	for i := range len(inner) {
		if inner[i] == '"' && (i == 0 || inner[i-1] != '\\') {
			return text // quotation marks of the user's own
		}
	}
	return strings.ReplaceAll(inner, `\"`, `"`)
}
