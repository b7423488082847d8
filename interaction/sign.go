package interaction

import "strings"

// An agent whose engine says that it can (engine.Profile.Signed) is given a word of its own for
// each attempt, the nonce. It stands in its marker, and in the first lines of its question and its
// output:
//
//	__SKILL_DONE__:nonce
//	```ask_user nonce
//	```json nonce
//
// Nobody whose text the agent repeats can know it, so what is repeated signals nothing (J12).

// signedLine reports whether the line is the marker with the nonce alone, and not indented as code
// is.
func signedLine(line, nonce string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), DoneMarker+":")
	return ok && strings.TrimSpace(rest) == nonce && !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t")
}

// signed reports whether the fence's info ends in the nonce.
func (s *segment) signed(nonce string) bool {
	_, rest, _ := strings.Cut(s.info, " ")
	return strings.TrimSpace(rest) == nonce
}

// Unsigned is a text for people: without the nonce.
func Unsigned(text, nonce string) string {
	if nonce == "" || !strings.Contains(text, nonce) {
		return text
	}
	return strings.NewReplacer(":"+nonce, "", " "+nonce, "", nonce, "").Replace(text)
}

// GoOnText is what an agent is told beside a reply: the nonce of this attempt. None of it is a
// signal when it is repeated.
func GoOnText(nonce string) string {
	return "\n\n[This note is not the person's. In your next message a question begins with the line ```ask_user " +
		nonce +
		" and output with the line ```json " + nonce + "; when the whole task is done, and only then, end it with " +
		"this line: " +
		DoneMarker + ":" + nonce + " ]\n"
}

// Quoted is what a person wrote, for an agent that has no nonce: as it is, or, where it would be a
// signal if the agent repeated it, as a quotation, which is none (J12). JSON that is the whole text
// is left alone unless it holds a marker or a question.
func Quoted(text string) string {
	r := Read(text, nil)
	whole := strings.TrimSpace(text)
	block := r.Output != nil && whole != "" && whole[0] != '{' && whole[0] != '['
	asks := false
	for _, d := range r.Diagnostics {
		asks = asks || d.Code.Question()
	}
	if !r.Done && !r.NotDone && r.Question == nil && !block && !asks {
		return text
	}
	return "> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> ")
}

const signedText = `## Working with a person
When you need a decision, an approval or a fact that only a person has, ask, and end your turn. Ask at most one question a turn, as the last thing you write, in this form, with NONCE in its first line:

` + "```" + `ask_user NONCE
kind: choose_one            # choose_one, confirm, fill_fields, open_text or risk_ack
prompt: Which region?       # required, as is kind
options:                    # optional
  - label: Frankfurt
    value: fra
ui_hints: {}                # optional
default_decision_policy: engine_judgement   # engine_judgement, safe_default or abort: how you decide if nobody replies
` + "```" + `

The reply comes as free text, whatever the kind. Understand it as a person would; never demand JSON or any other form.

When the whole task is done, and only then, write this on a line of its own at the end of your final message:

` + DoneMarker + `:NONCE

NONCE shows that a question, an output or the end is yours and not something that you quote: never put it into quoted text. Each reply brings a new one; only the newest counts.`
