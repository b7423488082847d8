package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// eventNames are the events that -kill-after knows: the types of the stored ones, and the triggers
// of changes of state.
func eventNames() []string {
	var names []string
	for _, p := range contract.Load().Payloads {
		names = append(names, p.Type)
	}
	for _, trigger := range fsm.Events() {
		if !slices.Contains(names, string(trigger)) { // a type may have its trigger's name
			names = append(names, string(trigger))
		}
	}
	return names
}

// killable says what -kill-after takes.
func killable() string {
	return "#N for the Nth event, or one of " + strings.Join(eventNames(), ", ")
}

func mayKill(event string) bool {
	if n, ok := strings.CutPrefix(event, "#"); ok {
		nth, err := strconv.ParseUint(n, 10, 64)
		return err == nil && nth > 0 && n == strconv.FormatUint(nth, 10)
	}
	return slices.Contains(eventNames(), event)
}

// fatal is a store that kills this process right after an event was stored: no deferred call, no
// signal handler and no acknowledgement comes after it.
type fatal struct {
	store.Store
	store.Watcher
	event string
}

// Commit stores the batch, and dies when the event was in it.
func (f fatal) Commit(ctx context.Context, batch []store.Commit) []error {
	errs := f.Store.Commit(ctx, batch)
	for i, c := range batch {
		if errs[i] == nil && f.tells(c) {
			die()
		}
	}
	return errs
}

// Claim starts runs, and dies when the event was among those that were stored.
func (f fatal) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	told := make(map[string]bool)
	start := req.Start
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := start(r, spec)
		told[r.ID] = err == nil && f.tells(c)
		return c, err
	}
	claimed, err := f.Store.Claim(ctx, req)
	for _, c := range claimed {
		if told[c.Run.ID] {
			die()
		}
	}
	return claimed, err
}

// tells reports whether the commit tells of the event: its type, its trigger, or #N.
func (f fatal) tells(c store.Commit) bool {
	for _, stored := range c.Events {
		if n, ok := strings.CutPrefix(f.event, "#"); ok && n == strconv.FormatUint(stored.Seq, 10) {
			return true
		}
		e, err := fcmp.Decode(stored.Body)
		if err != nil {
			continue
		}
		var change fcmp.StateChanged
		if e.Type == f.event || (json.Unmarshal(e.Data, &change) == nil && change.Trigger != "" &&
			change.Trigger == f.event) {
			return true
		}
	}
	return false
}

// die is kill -9.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {}
}
