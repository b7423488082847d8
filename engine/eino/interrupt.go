package eino

import (
	"encoding/gob"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/interlude-go/interlude/engine/approval"
	"github.com/interlude-go/interlude/interaction"
)

// Interrupt is a point where a graph or agent was interrupted and waits to be resumed.
type Interrupt struct {
	// ID is Eino's name of it.
	ID string
	// Address is its place, for people: "node:approve;tool:pay:call_1".
	Address string
	// Gate means an interrupt by the graph's compile options (WithInterruptBeforeNodes,
	// WithInterruptAfterNodes), not by a node. No node reads its answer, so it needs Config.Reply.
	Gate bool
	// Info is the interrupt's info; for a Gate the graph's state. It is set when the question is
	// made, and nil when the answer arrives.
	Info any
	// Question is the question as asked. It is set when the answer arrives.
	Question interaction.Question
}

// Asker is implemented by the info of an interrupt that has a question.
type Asker interface {
	Ask() interaction.Question
}

// init registers the possible infos: Eino's agents write an interrupt's info into their
// checkpoints, which requires registration.
func init() {
	schema.RegisterName[interaction.Question]("interlude_question")
	gob.Register(map[string]any{}) // in a question's hints
	gob.Register([]any{})
}

// Ask converts the info of an interrupt to a question. An interaction.Question or an Asker is
// used unchanged. Any other info becomes an open question with its text (a string, an error or a
// fmt.Stringer, else its JSON).
func Ask(i Interrupt) interaction.Question {
	switch info := i.Info.(type) {
	case interaction.Question:
		return info
	case *interaction.Question:
		if info != nil {
			return *info
		}
	case Asker:
		return info.Ask()
	}
	if i.Gate {
		return interaction.Question{Kind: interaction.Confirm, Prompt: "The graph has stopped at " + i.Address +
			". Shall it continue?"}
	}
	whole := interaction.Visible(text(i.Info))
	shown, hidden := approval.Cut(whole, interaction.MaxPromptText)
	q := interaction.Baseline(shown)
	q.Context = "asked at " + i.Address
	if hidden > 0 {
		q.Context += "\n" + whole
	}
	return q
}

func text(info any) string {
	switch info := info.(type) {
	case nil:
		return ""
	case string:
		return info
	case error:
		return info.Error()
	case fmt.Stringer:
		return info.String()
	}
	body, err := json.Marshal(info)
	if err != nil {
		return fmt.Sprintf("%+v", info)
	}
	return interaction.VisibleJSON(body, "")
}

// interrupts returns a graph's interrupts, sorted by address, so that the order of the questions
// does not depend on timing.
func interrupts(points []*compose.InterruptCtx, gates map[string]bool) []Interrupt {
	all := make([]Interrupt, 0, len(points))
	for _, p := range points {
		if p.IsRootCause {
			all = append(all, Interrupt{ID: p.ID, Address: p.Address.String(), Gate: gates[nodes(p.Address)],
				Info: p.Info})
		}
	}
	slices.SortStableFunc(all, func(a, b Interrupt) int { return strings.Compare(a.Address, b.Address) })
	return all
}

// gates are the paths of the graph, and of graphs in it, that stopped because of their compile
// options.
func gates(info *compose.InterruptInfo) map[string]bool {
	found := make(map[string]bool)
	var visit func(path string, i *compose.InterruptInfo)
	visit = func(path string, i *compose.InterruptInfo) {
		if len(i.BeforeNodes)+len(i.AfterNodes) > 0 && len(i.RerunNodes)+len(i.SubGraphs) == 0 {
			found[path] = true
		}
		for node, sub := range i.SubGraphs {
			visit(path+"/"+node, sub)
		}
	}
	visit("", info)
	return found
}

func nodes(a compose.Address) string {
	var path strings.Builder
	for _, s := range a {
		if s.Type == compose.AddressSegmentNode {
			path.WriteString("/" + s.ID)
		}
	}
	return path.String()
}
