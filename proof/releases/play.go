package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// opening is the time on the simulated clock at which the recording of a release begins.
var opening = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// seenRun is a line of runs.jsonl: a run as the version that stored it reads it, and what happens
// to it later.
type seenRun struct {
	ID      string               `json:"id"`
	Record  string               `json:"record"`
	Spec    string               `json:"spec"`
	Events  []string             `json:"events"`
	History []interaction.Record `json:"history"`
	Next    fate                 `json:"next,omitempty"`
	Ends    lifecycle.State      `json:"ends"`
	Fails   lifecycle.Code       `json:"fails,omitempty"`
}

// play performs all acts, and returns the database as SQL and the runs as lines.
func play(ctx context.Context, kept database) (dump, lines []byte, err error) {
	c := newClock(opening)
	names := make(map[string]string) // the replacement of each node's id in the dump
	nodes := []func() (*host, error){
		func() (*host, error) { return node(ctx, kept, c, formerEngine) },
		func() (*host, error) { return node(ctx, kept, c, elsewhereEngine) },
		func() (*host, error) { return node(ctx, kept, c) },
		func() (*host, error) {
			s, err := kept.open(ctx)
			if err != nil {
				return nil, err
			}
			return newClient(s, c)
		},
	}
	for turn, join := range nodes {
		c.pass(time.Second) // so that the leases of earlier nodes have ended
		h, err := join()
		if err != nil {
			return nil, nil, err
		}
		if err := h.perform(ctx, act(turn)); err != nil {
			return nil, nil, err
		}
		switch act(turn) {
		case before:
			err = errors.Join(h.name(ctx, "repeated", "before", names), h.die(), kept.fixTimes(ctx, c.Now()))
		case first:
			err = errors.Join(h.name(ctx, "choose-one", "first", names), h.end(), kept.fixTimes(ctx, c.Now()))
		case second:
			err = errors.Join(h.name(ctx, "waiting", "second", names), h.die())
		case last:
			lines, err = h.describe(ctx)
			err = errors.Join(err, h.close())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if err := kept.fixTimes(ctx, c.Now()); err != nil {
		return nil, nil, err
	}
	if dump, err = kept.dump(ctx); err != nil {
		return nil, nil, err
	}
	var replaced []string
	for id, name := range names {
		replaced = append(replaced, id, name, fmt.Sprintf("%x", id), fmt.Sprintf("%x", name))
	}
	r := strings.NewReplacer(replaced...)
	return []byte(r.Replace(string(dump))), []byte(r.Replace(string(lines))), nil
}

func node(ctx context.Context, kept database, c *clock, engines ...string) (*host, error) {
	s, err := kept.open(ctx)
	if err != nil {
		return nil, err
	}
	return newNode(ctx, s, c, engines)
}

// perform takes the steps of the act, one after the other.
func (h *host) perform(ctx context.Context, now act) error {
	for _, p := range cast { // a node recovers runs when it starts to serve
		if p.by == now-1 && len(p.recovered) > 0 {
			if err := h.inState(ctx, p.id, p.recovered[0], p.at); err != nil {
				return err
			}
		}
	}
	for _, p := range cast { // nothing else advances the clock from a run's due time until it has
		// continued
		if p.by == now-1 && len(p.recovered) > 0 {
			for _, state := range p.recovered[1:] {
				h.clock.pass(2 * time.Second)
				if err := h.inState(ctx, p.id, state, p.at); err != nil {
					return err
				}
			}
		}
	}
	for _, p := range cast {
		h.clock.pass(time.Second)
		if p.by == now {
			if err := h.enter(ctx, &p); err != nil {
				return fmt.Errorf("%s: %w", p.id, err)
			}
		}
		for i, r := range p.replies {
			if r.by != now {
				continue
			}
			h.clock.pass(time.Second)
			if _, err := h.Reply(ctx, p.id, lifecycle.Reply{ID: i + 1, Text: r.text, Key: fmt.Sprintf("key-%d", i+1),
				Actor: lifecycle.Actor{ID: "ada"}}); err != nil {
				return err
			}
			if err := h.inState(ctx, p.id, r.to, r.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter submits a run, and brings it to its state at the end of the act.
func (h *host) enter(ctx context.Context, p *part) error {
	spec := p.spec
	spec.ID = p.id
	if spec.Prompt == "" {
		spec.Prompt = "Paint."
	}
	if spec.Labels == nil {
		spec.Labels = map[string]string{"run": p.id, "team": "blue"}
	}
	before := begun.count(p.id)
	if p.parent != "" {
		return nil
	}
	if err := h.submit(ctx, p, spec); err != nil {
		return err
	}
	if err := h.until(ctx, p.id, string(p.stops), func(r *lifecycle.Run) bool {
		called := p.stops != running || begun.count(p.id) > before
		return r.State == p.stops && r.Attempt >= p.at && called
	}); err != nil {
		return err
	}
	for _, child := range cast { // before the clock moves
		if child.parent == p.id {
			if err := h.inState(ctx, child.id, child.stops, child.at); err != nil {
				return err
			}
		}
	}
	if p.cancel {
		if err := h.Cancel(ctx, p.id, "no longer needed"); err != nil {
			return err
		}
	}
	if p.deputy {
		ada := h.As(lifecycle.Actor{ID: "ada", For: "ann"})
		if err := ada.Claim(ctx, p.id, 1, h.clock.Now().Add(time.Hour)); err != nil {
			return err
		}
	}
	if p.notes {
		_, err := h.As(lifecycle.Actor{ID: "ada"}).Note(ctx, p.id, 1, lifecycle.Note{Text: "Ask <Bob>.", Key: "k"})
		if err != nil {
			return err
		}
	}
	if p.remembers {
		_, err := h.As(lifecycle.Actor{ID: "ada"}).Reply(ctx, p.id, lifecycle.Reply{ID: 1, Decision: lifecycle.Approve,
			Remember: &lifecycle.Remember{Until: h.clock.Now().Add(time.Hour)}})
		if err != nil {
			return err
		}
		if err := h.inState(ctx, p.id, waiting, 2); err != nil {
			return err
		}
	}
	h.clock.pass(p.passes)
	if p.then == "" {
		return h.until(ctx, p.id, "done with the steps that are due", func(r *lifecycle.Run) bool {
			q := r.FirstOpen()
			return q == nil || !q.StepDue() || q.NextDue().After(h.clock.Now())
		})
	}
	return h.inState(ctx, p.id, p.then, p.at)
}

// submit submits a run, or forks it from the first question of its source.
func (h *host) submit(ctx context.Context, p *part, spec lifecycle.Spec) error {
	if p.source == "" {
		_, err := h.Submit(ctx, spec)
		return err
	}
	at := lifecycle.At{
		ID: spec.ID, Question: 1, Answer: lifecycle.Reply{Text: "silver"}, Actor: lifecycle.Actor{ID: "ada"},
		Change: func(s *lifecycle.Spec) { s.Labels = spec.Labels },
	}
	if p.author != "" {
		at.Answer, at.Actor = lifecycle.Reply{}, lifecycle.Actor{ID: p.author}
	}
	_, err := h.Fork(ctx, p.source, at)
	return err
}

// name reads the node's id from a run that the node has parked, and assigns a replacement that is
// always the same.
func (h *host) name(ctx context.Context, run, name string, names map[string]string) error {
	r, err := h.Get(ctx, run)
	if err != nil {
		return err
	}
	if r.Owner == "" {
		return fmt.Errorf("%s has no owner", run)
	}
	names[r.Owner] = strings.Repeat("0", len(r.Owner)-len(name)) + name
	return nil
}

// describe returns a line for each run.
func (h *host) describe(ctx context.Context) ([]byte, error) {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for _, p := range cast {
		seen, err := see(ctx, h.store, p.id)
		if err != nil {
			return nil, err
		}
		seen.Next, seen.Ends, seen.Fails = p.next, p.ends, p.fails
		if err := lines.Encode(seen); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// see reads a run.
func see(ctx context.Context, s store.Store, id string) (*seenRun, error) {
	run, history, err := store.ReadHistory(ctx, s, id)
	if err != nil {
		return nil, err
	}
	record, err := store.Encode(run)
	if err != nil {
		return nil, err
	}
	spec, err := s.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := &seenRun{ID: id, Record: string(record), Spec: string(spec), History: history}
	events, err := s.Events(ctx, id, 0, 1000)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		seen.Events = append(seen.Events, string(e.Body))
	}
	return seen, nil
}

// contractFiles is the folder of package contract with only the contract's files.
type contractFiles struct{ fs.FS }

// ReadDir implements fs.ReadDirFS.
func (c contractFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool {
		file := path.Join(name, e.Name())
		return file != "lifecycle.json" && file != "events" && path.Dir(file) != "events"
	}), err
}
