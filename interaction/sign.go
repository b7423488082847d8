package interaction

import (
	"encoding/json"
	"strings"
)

// With engine.Profile.Signed, an agent receives a random word for each attempt, the nonce. The
// agent puts it into its marker and into the first lines of its question and its output:
//
//	__SKILL_DONE__:nonce
//	```ask_user nonce
//	```json nonce
//
// The authors of text that the agent repeats do not know the nonce, so that repeated text signals
// nothing.

// signedLine reports whether the line consists of the marker with the nonce and is not indented
// like code.
func signedLine(line, nonce string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), DoneMarker+":")
	return ok && strings.TrimSpace(rest) == nonce && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}

// signed reports whether the fence's info string ends in the nonce.
func (s *segment) signed(nonce string) bool {
	_, rest, _ := strings.Cut(s.info, " ")
	return strings.TrimSpace(rest) == nonce
}

// RemoveNonce removes the nonce from a text for people.
func RemoveNonce(text, nonce string) string {
	if nonce == "" || !strings.Contains(text, nonce) {
		return text
	}
	return strings.NewReplacer(":"+nonce, "", " "+nonce, "", nonce, "").Replace(text)
}

// GoOnText returns a note to append to a reply, with the nonce of this attempt. The note contains
// no signal, even if the agent repeats it.
func GoOnText(nonce string) string {
	return "\n\n[This note is not the person's. In your next message a question begins with the line ```ask_user " +
		nonce +
		" and output with the line ```json " + nonce + "; when the whole task is done, and only then, end it with " +
		"this line: " +
		DoneMarker + ":" + nonce + " ]\n"
}

// Quoted returns a person's text for an agent without a nonce. A text that would be a signal if
// repeated becomes a quotation; any other text is unchanged, including JSON that is the whole text
// and has no marker or question.
func Quoted(text string) string {
	r := ReadSeveral(text, nil, "", MaxQuestions) // whatever the run's limit
	block := r.Output != nil && !json.Valid([]byte(text))
	asks := false
	for _, d := range r.Diagnostics {
		asks = asks || d.Code.Question()
	}
	if !r.Done && !r.NotDone && r.Question == nil && !block && !asks {
		return text
	}
	return "> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> ")
}
