package interaction

import (
	"encoding/json"
	"strings"
)

// With engine.Profile.Signed, an agent receives a random word for each attempt, the nonce, and puts
// it into its marker and into the first lines of its question and its output:
//
//	__SKILL_DONE__:nonce
//	```ask_user nonce
//	```json nonce
//
// The authors of text that the agent repeats do not know it, so that repeated text signals nothing.

func signedLine(line, nonce string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), DoneMarker+":")
	return ok && strings.TrimSpace(rest) == nonce && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}

func (s *segment) signed(nonce string) bool {
	_, rest, _ := strings.Cut(s.info, " ")
	return strings.TrimSpace(rest) == nonce
}

func RemoveNonce(text, nonce string) string {
	if nonce == "" || !strings.Contains(text, nonce) {
		return text
	}
	return strings.NewReplacer(":"+nonce, "", " "+nonce, "", nonce, "").Replace(text)
}

// GoOnText returns a note to append to a reply, with the attempt's nonce. It contains no signal,
// even if the agent repeats it.
func GoOnText(nonce string) string {
	return "\n\n[This note is not the person's. In your next message a question begins with the line ```ask_user " +
		nonce +
		" and output with the line ```json " + nonce + "; when the whole task is done, and only then, end it with " +
		"this line: " +
		DoneMarker + ":" + nonce + " ]\n"
}

// Quoted returns a person's text for an agent without a nonce: a text that would be a signal if
// repeated as a quotation, any other unchanged, including JSON that is the whole text and has no
// marker or question.
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
