package interaction

import (
	"encoding/json"
	"strings"
)

// An agent whose engine asks for it (engine.Profile.Signed) is given a random word for each
// attempt, the nonce. The agent puts it into its marker, and into the first lines of its question
// and its output:
//
//	__SKILL_DONE__:nonce
//	```ask_user nonce
//	```json nonce
//
// The people and documents whose text the agent repeats do not know the nonce, so that repeated
// text signals nothing.

// signedLine reports whether the line is the marker with the nonce, alone, and is not indented like
// code.
func signedLine(line, nonce string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), DoneMarker+":")
	return ok && strings.TrimSpace(rest) == nonce && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}

// signed reports whether the fence's info ends in the nonce.
func (s *segment) signed(nonce string) bool {
	_, rest, _ := strings.Cut(s.info, " ")
	return strings.TrimSpace(rest) == nonce
}

// RemoveNonce returns the text without the nonce, which people need not see.
func RemoveNonce(text, nonce string) string {
	if nonce == "" || !strings.Contains(text, nonce) {
		return text
	}
	return strings.NewReplacer(":"+nonce, "", " "+nonce, "", nonce, "").Replace(text)
}

// GoOnText is added to a reply and tells the agent the nonce of this attempt. The text itself holds
// no signal, should the agent repeat it.
func GoOnText(nonce string) string {
	return "\n\n[This note is not the person's. In your next message a question begins with the line ```ask_user " +
		nonce +
		" and output with the line ```json " + nonce + "; when the whole task is done, and only then, end it with " +
		"this line: " +
		DoneMarker + ":" + nonce + " ]\n"
}

// Quoted is a person's text for an agent that has no nonce. A text that would be a signal if the
// agent repeated it becomes a quotation, which is none; any other stays as it is, also JSON
// that is the whole text and holds neither marker nor question.
func Quoted(text string) string {
	r := ReadSeveral(text, nil, "", MaxQuestions) // whatever the limit of its run is
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
