package stories

import (
	"context"
	"slices"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/store"
)

// childName is the label with a child's name in stories (parent/key), since its id is not readable.
const childName = "story"

// nameOf is what stories call the run of the turn.
func nameOf(t engine.Turn) string {
	if name := t.Labels[childName]; name != "" {
		return name
	}
	return t.RunID
}

func (a *agent) start(ctx context.Context, key string, t engine.Turn, s engine.Sink) error {
	parent, ok := s.(engine.Parent)
	if !ok {
		return engine.ErrNoChildren
	}
	id, err := parent.Spawn(ctx, engine.Child{Key: key, Prompt: "Do your part.",
		Labels: map[string]string{childName: nameOf(t) + "/" + key}})
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.children[t.RunID] = append(a.children[t.RunID], id)
	}
	return err
}

func (a *agents) childrenOf(runID string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.children[runID]
}

// readChildren removes the lines "child KEY: …" below a submission: each is a turn of the child
// with this key.
func (w *world) readChildren(parent, body string) (left string, _ error) {
	for line := range strings.Lines(body) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "child ")
		if !ok {
			left += line
			continue
		}
		key, steps, _ := strings.Cut(text, ": ")
		turn, err := readTurn(steps)
		if err != nil {
			return "", err
		}
		w.agents.mu.Lock()
		w.agents.turns[parent+"/"+key] = append(w.agents.turns[parent+"/"+key], turn)
		w.agents.mu.Unlock()
		if !slices.Contains(w.families, parent) {
			w.families = append(w.families, parent)
		}
	}
	return left, nil
}

// findChildren finds the runs that the story's runs have started, and gives them their names.
func (w *world) findChildren() error {
	for _, parent := range w.families {
		page, err := w.base.Runs(w.ctx, store.Query{Parent: parent, Limit: store.MaxBatch})
		if err != nil {
			return err
		}
		for i := range page.Runs {
			if r := &page.Runs[i]; w.names[r.ID] == "" {
				w.names[r.ID] = r.Labels[childName]
				w.runs = append(w.runs, r.ID)
			}
		}
	}
	return nil
}

// withIDs replaces the names of children by their ids, and withNames does the opposite.
func (w *world) withIDs(line string) string {
	for id, name := range w.names {
		line = strings.ReplaceAll(line, name, id)
	}
	return line
}

func (w *world) withNames(text string) string {
	for id, name := range w.names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
