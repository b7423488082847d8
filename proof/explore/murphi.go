package explore

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/interlude-go/interlude/contract"
)

//go:generate go run ./modelcheck -murphi lifecycle.gen.murphi

//go:embed murphi.tmpl
var murphiText string

var murphiTemplate = template.Must(template.New("murphi").Parse(murphiText))

// Murphi returns the model in the language of Rumur, generated from the contract's source, with all
// scenarios within the bounds. Rumur must count as many states as All.
func Murphi(source []byte, b Bounds) (string, error) {
	if err := b.Check(); err != nil {
		return "", err
	}
	if b.Questions == 0 {
		return "", fmt.Errorf("explore: questions is 0, want 1 to %d for Murphi, which has no empty range",
			MaxQuestions)
	}
	l, err := contract.Parse(source)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	if err := murphiTemplate.Execute(&out, murphiOf(l, source, b)); err != nil {
		return "", fmt.Errorf("explore: %w", err)
	}
	return out.String(), nil
}

// murphi is the data of the template.
type murphi struct {
	Version, Hash                     string
	Bounds                            Bounds
	Turns, Choices                    int
	Places, Events, Terminal, Initial string
	Facts                             []string
	Transitions, Gate, Waiting        []murphiRow
}

// murphiRow is one row of a contract's table, with Murphi's names.
type murphiRow struct {
	ID, From, Event, To, Slot, Guard, Outcome, When, OnDeadline string
}

func murphiOf(l *contract.Lifecycle, source []byte, b Bounds) murphi {
	m := murphi{
		Version: l.Version, Hash: fmt.Sprintf("%x", sha256.Sum256(source))[:8], Bounds: b, Turns: b.Attempts +
			2*b.Faults, Choices: max(b.Questions, choseEnd), Initial: inMurphi("S", l.Submission.To),
	}
	var runStates, events, endWork []string
	for _, s := range l.States {
		runStates = append(runStates, inMurphi("S", s.Name))
		if s.Terminal {
			endWork = append(endWork, "s = "+inMurphi("S", s.Name))
		}
	}
	for _, e := range l.Events {
		events = append(events, inMurphi("E", e.Name))
	}
	for _, f := range l.Facts {
		m.Facts = append(m.Facts, f.Name)
	}
	m.Places, m.Events, m.Terminal = strings.Join(runStates, ", "), strings.Join(events, ", "), strings.Join(endWork,
		" | ")
	for _, t := range l.Transitions {
		row := murphiRow{ID: t.ID, From: inMurphi("S", t.From), Event: inMurphi("E", t.Event), To: inMurphi("S", t.To),
			Slot: inMurphi("L", t.Slot)}
		if g := guardInMurphi(t.Guard); g != "true" {
			row.Guard = " & " + g
		}
		m.Transitions = append(m.Transitions, row)
	}
	for _, g := range l.Gate {
		m.Gate = append(m.Gate, murphiRow{ID: g.ID, Guard: guardInMurphi(g.Guard), Outcome: inMurphi("E", g.Outcome)})
	}
	for _, w := range l.Waiting {
		when := fmt.Sprintf("is_sticky = %t & is_strict = %t", w.Profile == "sticky_process", w.Strict)
		m.Waiting = append(m.Waiting, murphiRow{ID: w.ID, When: when, OnDeadline: inMurphi("D", w.OnDeadline)})
	}
	return m
}

// inMurphi converts a name of the contract to a name in Murphi.
func inMurphi(kind, name string) string { return kind + "_" + strings.ReplaceAll(name, ".", "_") }

func guardInMurphi(g contract.Guard) string {
	var all []string
	for _, f := range g.All {
		all = append(all, "f."+f)
	}
	for _, f := range g.None {
		all = append(all, "!f."+f)
	}
	if len(all) == 0 {
		return "true"
	}
	return strings.Join(all, " & ")
}
