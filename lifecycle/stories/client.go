package stories

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var clientCommands = map[string]command{
	"submit": {
		doc:   "submits a job; the default profile is resumable",
		words: []string{"RUN"}, flags: []string{"auto-decide", "repeatable", "hold", "held"},
		named: []string{
			"on-interrupt",
			"mode", "profile", "session-timeout", "max-attempts", "questions", "max-repeats", "max-auto-decisions",
			"turn-timeout", "repair-rounds", "retries", "backoff", "turns", "tokens",
			"pool", "key", "priority", "not-before", "label", "work-dir", "wait", "to", "need", "rejects",
			"as",
		},
		body: "the agent's turns", do: submit,
	},
	"fork": {doc: "forks a run from a settled question, or from its end",
		words: []string{"RUN", "FORK"}, flags: []string{"held"},
		named: []string{"question", "actor", "key", "engine", "as"},
		body:  "reply and the text that replaces the stored answer, and the agent's turns", do: fork},
	"reply": {doc: "answers a question", words: []string{"RUN", "QUESTION"}, flags: []string{"held", "accept-risk"},
		named: []string{"key", "actor", "for", "value", "decision", "seen", "groups", "as"}, body: "the reply's text",
		do: reply},
	"extend": {doc: "moves the end of a question's wait", words: []string{"RUN", "QUESTION", "TIME"},
		flags: []string{"held"}, named: []string{"as"}, do: extend},
	"claim-question": {doc: "claims a question until a time", words: []string{"RUN", "QUESTION", "TIME"},
		flags: []string{"held"}, named: []string{"actor", "for", "groups", "as"}, do: claim},
	"release-question": {doc: "ends a claim", words: []string{"RUN", "QUESTION"},
		flags: []string{"held"}, named: []string{"actor", "for", "groups", "as"}, do: unclaim},
	"note": {doc: "writes a note on a question", words: []string{"RUN", "QUESTION"},
		flags: []string{"held"}, named: []string{"key", "actor", "for", "groups", "as"}, body: "the note's text",
		do: writeNote},
	"reassign": {doc: "reassigns a question; from: the expected audience, if not the current one",
		words: []string{"RUN", "QUESTION", "WHOM"}, flags: []string{"held"},
		named: []string{"actor", "for", "groups", "from", "as"}, do: reassign},
	"deputy": {doc: "makes a person the deputy of another, who has these groups; offline: the directory fails",
		words: []string{"DEPUTY", "PERSON"}, flags: []string{"offline"}, named: []string{"until", "groups"},
		do: deputize},
	"cancel": {doc: "cancels a run", words: []string{"RUN"}, flags: []string{"held"}, named: []string{"as"},
		body: "the reason", do: cancel},
	"choose": {doc: "decides about a held run: repeat, end, or raise with a new budget of turns and tokens",
		words: []string{"RUN", "CHOICE"}, named: []string{"turns", "tokens", "version", "actor", "as"}, do: choose},
	"recover": {doc: "recovers runs of dead nodes", flags: []string{"held"}, named: []string{"as"}, do: recoverOnce},
	"prune":   {doc: "deletes runs that ended before that", named: []string{"older-than"}, do: prune},
	"hold": {doc: "holds the next call of a node or client before the store: commit, claim, renew, expire or ack",
		words: []string{"WHO", "CALL"}, do: hold},
	"release": {doc: "continues a held call. fails: the store fails; unheard: the store succeeds, and its " +
		"response is lost", words: []string{"WHO"}, flags: []string{string(fails), string(unheard)},
		do: release},
	"advance": {doc: "advances the clock", words: []string{"TIME"}, do: func(w *world, a *args) (string, error) {
		w.timers.advance(value(a, a.words["TIME"], time.ParseDuration))
		return "", nil
	}},
}

func submit(w *world, a *args) (string, error) {
	spec := lifecycle.Spec{
		ID: a.words["RUN"], Prompt: "Do the job.", Mode: lifecycle.Mode(a.named["mode"]),
		AutoDecide: a.flags["auto-decide"], Repeatable: a.flags["repeatable"],
		SessionTimeout: a.duration("session-timeout"), MaxAttempts: a.number("max-attempts"),
		MaxQuestions: a.number("questions"),
		MaxRepeats:   a.number("max-repeats"), MaxAutoDecisions: a.number("max-auto-decisions"),
		TurnTimeout:  a.duration("turn-timeout"),
		RepairRounds: a.number("repair-rounds"), Pool: a.named["pool"], Key: a.named["key"],
		Priority: a.number("priority"), WorkDir: a.named["work-dir"],
	}
	spec.Budget = budget(a)
	if profile := a.named["profile"]; profile != "resumable" {
		spec.Engine = profile
	}
	if a.named["retries"] != "" {
		spec.Retry = &lifecycle.Retry{Max: a.number("retries"), Backoff: a.duration("backoff")}
	}
	ask := lifecycle.AskPolicy{Wait: value(a, a.named["wait"], readWait), To: audience(a.named["to"]),
		Need: a.number("need"), Rejects: a.number("rejects")}
	if ask != (lifecycle.AskPolicy{}) {
		spec.Ask = &ask
	}
	spec.OnInterrupt = lifecycle.OnInterrupt(a.named["on-interrupt"])
	if a.flags["hold"] {
		spec.Hold = lifecycle.HoldOn
	}
	if later := a.duration("not-before"); later != 0 {
		spec.NotBefore = time.Now().Add(later)
	}
	if name, text, ok := strings.Cut(a.named["label"], ":"); ok {
		spec.Labels = map[string]string{name: text}
	}
	own, err := w.readChildren(spec.ID, a.body)
	if err != nil {
		return "", err
	}
	turns, err := readScript(own, &spec)
	if err == nil {
		err = a.err
	}
	if err != nil {
		return "", err
	}
	w.script(spec.ID, turns)
	c := w.client(a.named["as"])
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		r, err := c.Submit(ctx, spec)
		if err != nil {
			return formatError(err)
		}
		return fmt.Sprintf("submitted %s: %s\n", r.ID, r.State)
	})
}

func fork(w *world, a *args) (string, error) {
	at := lifecycle.At{Question: a.number("question"), Actor: lifecycle.Actor{ID: a.named["actor"]},
		ID: a.words["FORK"]}
	key, engine := a.named["key"], a.named["engine"]
	at.Change = func(s *lifecycle.Spec) { s.Key, s.Engine = cmp.Or(key, s.Key), cmp.Or(engine, s.Engine) }
	script := a.body
	if first, rest, _ := strings.Cut(a.body, "\n"); strings.HasPrefix(first, "reply ") {
		at.Answer.Text, _ = unquoted(strings.TrimPrefix(first, "reply "))
		script = rest
	}
	turns, err := readScript(script, new(lifecycle.Spec))
	if err != nil {
		return "", err
	}
	w.script(at.ID, turns)
	c := w.client(a.named["as"])
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		r, err := c.Fork(ctx, a.words["RUN"], at)
		if err != nil {
			return formatError(err)
		}
		return fmt.Sprintf("forked %s: %s\n", r.ID, r.State)
	})
}

func (w *world) script(id string, turns []turnScript) {
	if len(turns) > 0 {
		w.agents.mu.Lock()
		w.agents.turns[id] = turns
		w.agents.mu.Unlock()
	}
	if !slices.Contains(w.runs, id) {
		w.runs = append(w.runs, id)
	}
}

func readScript(body string, spec *lifecycle.Spec) (all []turnScript, _ error) {
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "schema "); ok {
			spec.OutputSchema = []byte(text)
			continue
		}
		if text, ok := strings.CutPrefix(line, "prompt "); ok {
			spec.Prompt, _ = unquoted(text)
			continue
		}
		turn, err := readTurn(line)
		if err != nil {
			return nil, err
		}
		all = append(all, turn)
	}
	return all, nil
}

func reply(w *world, a *args) (string, error) {
	text, quoted := unquoted(a.body)
	if !quoted {
		text = a.body
	}
	r := interaction.Reply{ID: value(a, a.words["QUESTION"], strconv.Atoi), Text: text, Key: a.named["key"],
		Actor: person(a), Decision: interaction.Decision(a.named["decision"]), Seen: a.named["seen"],
		AcceptRisk: a.flags["accept-risk"]}
	if value, _ := unquoted(a.named["value"]); value != "" {
		r.Value = json.RawMessage(value)
	}
	c := w.client(a.named["as"])
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		receipt, err := c.Reply(ctx, a.words["RUN"], r)
		if err != nil {
			return formatError(err)
		}
		text := fmt.Sprintf("accepted reply to %s question %d", receipt.RunID, receipt.ID)
		if receipt.Key != "" {
			text += " key=" + receipt.Key
		}
		text += " at " + w.formatTime(receipt.AcceptedAt)
		if receipt.Replayed {
			text += ", as before"
		}
		return text + "\n"
	})
}

func cancel(w *world, a *args) (string, error) {
	c := w.client(a.named["as"])
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		if err := c.Cancel(ctx, a.words["RUN"], a.body); err != nil {
			return formatError(err)
		}
		return "canceled " + a.words["RUN"] + "\n"
	})
}

func budget(a *args) lifecycle.Budget {
	return lifecycle.Budget{Turns: a.number("turns"), Tokens: int64(a.number("tokens"))}
}

func choose(w *world, a *args) (string, error) {
	r := lifecycle.Resume{Choice: lifecycle.Choice(a.words["CHOICE"]), Version: uint64(a.number("version")),
		Actor: lifecycle.Actor{ID: a.named["actor"]}, Budget: budget(a)}
	c := w.client(a.named["as"])
	return w.call(c, false, func(ctx context.Context) string {
		if err := c.Resume(ctx, a.words["RUN"], r); err != nil {
			return formatError(err)
		}
		return "decided about " + a.words["RUN"] + "\n"
	})
}

func recoverOnce(w *world, a *args) (string, error) {
	c := w.client(a.named["as"])
	return w.call(c, a.flags["held"], func(ctx context.Context) string {
		done, err := c.Recover(ctx)
		if err != nil {
			return formatError(err)
		}
		text := fmt.Sprintf("recovered nodes=%d requeued=%d failed=%d", done.Nodes, done.Requeued, done.Failed)
		if done.Held > 0 {
			text += fmt.Sprintf(" held=%d", done.Held)
		}
		return text + "\n"
	})
}

func prune(w *world, a *args) (string, error) {
	n, err := w.client("").Prune(w.ctx, time.Now().Add(-a.duration("older-than")))
	if err != nil {
		return formatError(err), nil
	}
	return fmt.Sprintf("pruned %d\n", n), nil
}

func hold(w *world, a *args) (string, error) {
	kinds := []string{"commit", "claim", "renew", "expire", "ack"}
	if !slices.Contains(kinds, a.words["CALL"]) {
		return "", fmt.Errorf("nothing is held but %s", strings.Join(kinds, ", "))
	}
	conn, err := w.connection(a.words["WHO"])
	if err != nil {
		return "", err
	}
	conn.holdNext(a.words["CALL"])
	return "", nil
}

func release(w *world, a *args) (string, error) {
	conn, err := w.connection(a.words["WHO"])
	if err != nil {
		return "", err
	}
	h := conn.heldCall()
	if h == nil {
		return "", errors.New("nothing is held there")
	}
	f := arrives
	for _, other := range []fate{fails, unheard} {
		if a.flags[string(other)] {
			f = other
		}
	}
	h.fate <- f
	w.settle()
	c := w.clients[a.words["WHO"]]
	if c == nil || c.answer == nil {
		return "", nil
	}
	select {
	case text := <-c.answer:
		c.answer = nil
		return text, nil
	default:
		return "", errors.New("the call does not return")
	}
}
