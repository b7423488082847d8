package audit

import (
	"fmt"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
)

// The rule about forks that ask questions of their source again.

// mustAskAgain reports whether the run is a fork that still has to repeat its source's questions.
func (v *view) mustAskAgain() bool {
	return v.started != nil && v.started.data.AsksAgain > 0 && v.asked == 0 && !v.askedUnknown
}

// asksAgain is IV-48: a fork repeats its source's questions before its engine emits or ends
// anything. The first round of questions has the announced size.
type asksAgain struct{}

func (*asksAgain) bind(*contract.Lifecycle) error { return nil }

func (*asksAgain) judge(v *view, s *step) string {
	if !v.mustAskAgain() {
		return ""
	}
	if v.partial {
		return s.skip()
	}
	want := v.started.data.AsksAgain
	switch s.Type {
	case fcmp.TypeMessageFinal, fcmp.TypeMessageIntermediate:
		return s.Type + " before the fork has asked again"
	case fcmp.TypeStateChanged:
		if s.data.Trigger == "turn.succeeded" || s.data.Trigger == fcmp.TypeYielded {
			return fmt.Sprintf("%s before the fork has asked again", describe(s))
		}
	case fcmp.TypeInputRequired:
		asked := 1
		if s.data.Together != nil {
			asked = s.data.Together.Questions
		}
		if asked != want {
			return fmt.Sprintf("the fork asks %d questions, and said that it asks %d again", asked, want)
		}
	}
	return ""
}
