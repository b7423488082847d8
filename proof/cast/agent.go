package cast

import (
	"encoding/json"
	"fmt"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// Heard is the memory of an agent: its answers, in order. It is the content of the agent's session
// and its output, so that a judge detects a lost or repeated answer.
type Heard []string

type heard struct {
	Heard Heard `json:"heard"`
}

// Recall returns the memory of a turn's agent: its session's, and the answers of this turn.
func Recall(t engine.Turn) (Heard, error) {
	var h Heard
	if t.Session != nil {
		var err error
		if h, err = ReadHeard(t.Session.Data); err != nil {
			return nil, err
		}
	}
	return h.Hear(t)
}

// Hear adds the answers of a turn. It is an error if one is missing or differs from the memory; a
// repeated turn has the same answers again.
func (h Heard) Hear(t engine.Turn) (Heard, error) {
	h = h[:len(h):len(h)]
	for _, a := range t.Answers {
		switch {
		case a.ID == len(h)+1:
			h = append(h, a.Text)
		case a.ID > len(h), h[a.ID-1] != a.Text:
			return nil, fmt.Errorf("answer %d (%q) was given to an agent that has heard %q", a.ID, a.Text, h)
		}
	}
	return h, nil
}

// ReadHeard reads the data of a session, or an output.
func ReadHeard(body []byte) (Heard, error) {
	var h heard
	if err := json.Unmarshal(body, &h); err != nil {
		return nil, fmt.Errorf("%.200q: %w", body, err)
	}
	return h.Heard, nil
}

// Next ends the turn of an agent that asks so many questions, one after the other: with the next
// question, or with the output.
func (h Heard) Next(questions int, prompt string) (engine.Outcome, error) {
	if h == nil {
		h = Heard{}
	}
	if len(h) >= questions {
		return engine.Output(heard{h})
	}
	data, err := json.Marshal(heard{h})
	o := engine.Ask(interaction.Question{Kind: interaction.OpenText, Prompt: prompt})
	o.Session = &engine.SessionHandle{Engine: "cast", Version: "1", Data: data}
	return o, err
}
