package metamorphic_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// do executes one step.
func (w *world) do(o operation) {
	switch o.do {
	case "submit":
		spec := o.spec
		if spec.ID = id(o.run); o.later != 0 {
			spec.NotBefore = time.Now().Add(o.later)
		}
		r, err := w.client.Submit(w.ctx, spec)
		w.say(w.record(&r), w.fault(err))
	case "claim":
		w.during(&w.gate.claims, 2*time.Second)
	case "turn":
		w.say(w.agents["resumable"].end(id(o.run), o.turn) || w.agents["sticky_process"].end(id(o.run), o.turn))
	case "reply":
		w.reply(o)
	case "resume":
		w.resume(o)
	case "cancel":
		w.say(w.fault(w.client.Cancel(w.ctx, id(o.run), "no longer needed")))
	case "wait":
		w.pass(o.wait)
	case "deadlines":
		w.during(&w.gate.deadlines, o.wait)
	case "crash":
		w.crash()
	case "shutdown":
		if err := w.stop(); err != nil {
			w.say("serve ended with", w.fault(err))
		}
		w.start()
	case "recover":
		done, err := w.client.Recover(w.ctx)
		w.say(done, w.fault(err))
	case "recovers":
		w.during(&w.gate.recoveries, third)
	case "kill":
		w.say(w.agents["sticky_process"].kill(id(o.run)))
	case "resize":
		w.say(w.fault(w.second.SetPool(w.ctx, slots.Pool{Name: "small", Capacity: o.run, KeyCapacity: 3 - o.run})))
	default:
		w.ask(o)
	}
	w.pass(time.Second)
}

func (w *world) reply(o operation) {
	r := o.reply
	if run, err := w.client.Get(w.ctx, id(o.run)); err == nil {
		r.ID = run.Interactions - o.which
	} else {
		r.ID = 1
	}
	receipt, err := w.client.Reply(w.ctx, id(o.run), r)
	w.say(receipt, w.fault(err))
}

func (w *world) resume(o operation) {
	decision := lifecycle.Resume{Choice: o.choice, Actor: lifecycle.Actor{ID: "olga"}}
	if run, err := w.client.Get(w.ctx, id(o.run)); err == nil && o.version {
		decision.Version = run.Version - uint64(o.which)
	}
	w.say(w.fault(w.client.Resume(w.ctx, id(o.run), decision)))
}

// crash expires the node, which continues as a zombie until its next heartbeat.
func (w *world) crash() {
	nodes, err := w.second.Nodes(w.ctx)
	w.say(len(nodes), w.fault(err))
	for _, n := range nodes {
		gone, err := w.second.Expire(w.ctx, time.Time{}, n.ID)
		w.say(len(gone), w.fault(err))
	}
	w.pass(third)
}

// say records an answer.
func (w *world) say(answer ...any) { w.said = append(w.said, fmt.Sprintln(answer...)) }

// record is a run as text, with every field that stores keep.
func (w *world) record(r *store.Run) string {
	if r.ID == "" {
		return "none"
	}
	if _, known := w.nodes[r.Owner]; !known {
		w.nodes[r.Owner] = fmt.Sprint("node ", len(w.nodes))
	}
	level := r.Clone()
	level.Owner = w.nodes[r.Owner]
	text, err := store.Encode(level)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// fault is the class of an error, by errors.Is and errors.As.
func (w *world) fault(err error) string {
	if err == nil {
		return ""
	}
	var classes []string
	for name, sentinel := range map[string]error{
		"not found": store.ErrNotFound, "exists": store.ErrExists, "conflict": store.ErrConflict,
		"stale":        store.ErrStaleEpoch,
		"unknown pool": store.ErrUnknownPool, "invalid": store.ErrInvalid, "closed": store.ErrClosed,
		"corrupt":      store.ErrCorrupt,
		"invalid spec": lifecycle.ErrInvalidSpec, "spec conflict": lifecycle.ErrSpecConflict,
		"invalid reply": lifecycle.ErrInvalidReply,
		"not waiting":   lifecycle.ErrNotWaiting, "settled": lifecycle.ErrSettled,
		"key conflict": lifecycle.ErrKeyConflict,
		"terminal":     lifecycle.ErrTerminal, "serving": lifecycle.ErrServing,
		"not held": lifecycle.ErrNotHeld, "changed": lifecycle.ErrRunChanged,
		"invalid argument": lifecycle.ErrInvalidArgument,
	} {
		if errors.Is(err, sentinel) {
			classes = append(classes, name)
		}
	}
	if len(classes) == 0 {
		return "of no class: " + err.Error()
	}
	slices.Sort(classes)
	text := strings.Join(classes, ", ")
	var spec *lifecycle.SpecError
	var waits *lifecycle.WaitError
	var settled *lifecycle.SettledError
	var terminal *lifecycle.TerminalError
	var field *interaction.FieldError
	for _, typed := range []any{&spec, &waits, &settled, &terminal, &field} {
		errors.As(err, typed)
	}
	return text + " " + detail(spec, waits, settled, terminal, field)
}

// detail is the data of the typed errors.
func detail(spec *lifecycle.SpecError, waits *lifecycle.WaitError, settled *lifecycle.SettledError,
	terminal *lifecycle.TerminalError, field *interaction.FieldError) (text string) {
	if spec != nil {
		text += fmt.Sprint(spec.Field, spec.Value, spec.Want)
	}
	if waits != nil {
		text += fmt.Sprint(waits.State, waits.Asked, waits.Pending, waits) // a Failure is in the error's text
	}
	if settled != nil {
		text += fmt.Sprint(*settled)
	}
	if terminal != nil {
		text += fmt.Sprint(*terminal)
	}
	if field != nil {
		text += fmt.Sprint(*field)
	}
	return text
}
