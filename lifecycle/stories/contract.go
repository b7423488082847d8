package stories

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/explain"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// contractCommands query the contract. The generated machine and the contract's interpreter must
// agree.
var contractCommands = map[string]command{
	"next": {doc: "the transition for a state, an event and facts", words: []string{"STATE", "EVENT"},
		named: []string{"facts"}, do: showNext},
	"decide": {doc: "the decision for a turn's evidence", named: []string{"facts"}, do: showDecision},
	"wait": {doc: "the resources of a waiting run, and the effect of its deadline",
		words: []string{"PROFILE", "STRICT"}, do: showWaitingPolicy},
	"explain": {doc: "explains an id", words: []string{"ID"}, do: explainID},
	"check": {doc: "forges a run's log and checks it against the contract", words: []string{"RUN"},
		body: "the forgery: without N, twice N, swap N M, change N OLD NEW", do: checkForgedLog},
}

// facts returns the named facts, as the machine and as the contract have them.
func facts(a *args) (set fsm.Facts, named contract.Facts) {
	named = make(contract.Facts)
	for _, name := range strings.Split(a.named["facts"], ",") {
		if name == "" {
			continue
		}
		fact, ok := fsm.FactNamed(name)
		if !ok {
			a.err = fmt.Errorf("there is no fact %s", name)
		}
		set, named[name] = set|fact, true
	}
	return set, named
}

func showNext(_ *world, a *args) (string, error) {
	set, named := facts(a)
	var machine string
	t, err := fsm.Next(fsm.State(a.words["STATE"]), fsm.Event(a.words["EVENT"]), set)
	var refusal *fsm.Refusal
	switch {
	case errors.As(err, &refusal):
		machine = fmt.Sprintf("refused: %s by %s\n", refusal.Code, refusal.Rule)
	case err != nil:
		return "", err
	default:
		machine = fmt.Sprintf("%s by %s slot=%s\n", t.To, t.ID, t.Slot)
	}
	verdict := contract.Load().Next(a.words["STATE"], a.words["EVENT"], named)
	reference := fmt.Sprintf("refused: %s by %s\n", verdict.Code, verdict.Rule)
	if t := verdict.Transition; t != nil {
		reference = fmt.Sprintf("%s by %s slot=%s\n", t.To, t.ID, t.Slot)
	}
	return machine, requireSame(machine, reference)
}

func requireSame(machine, reference string) error {
	if machine != reference {
		return fmt.Errorf("the machine says %q, and the contract %q", machine, reference)
	}
	return nil
}

func showDecision(_ *world, a *args) (string, error) {
	set, named := facts(a)
	rule := fsm.Decide(set)
	machine := formatRule(rule.ID, string(rule.Outcome), string(rule.Error))
	other, ok := contract.Load().Decide(named)
	if !ok {
		return "", errors.New("the contract does not decide")
	}
	return machine, requireSame(machine, formatRule(other.ID, other.Outcome, other.Error))
}

func formatRule(id, outcome, code string) string {
	return strings.TrimSpace(fmt.Sprintf("%s by %s %s", outcome, id, code)) + "\n"
}

func showWaitingPolicy(_ *world, a *args) (string, error) {
	strict, err := strconv.ParseBool(strings.TrimPrefix(a.words["STRICT"], "strict:"))
	if err != nil {
		return "", errors.New("STRICT is strict:true or strict:false")
	}
	rule, ok := fsm.Wait(fsm.Profile(a.words["PROFILE"]), strict)
	other, known := contract.Load().Wait(a.words["PROFILE"], strict)
	if !ok || !known {
		return "", fmt.Errorf("there is no profile %s", a.words["PROFILE"])
	}
	machine := fmt.Sprintf("slot=%s on_deadline=%s by %s\n", rule.Slot, rule.OnDeadline, rule.ID)
	return machine, requireSame(machine, fmt.Sprintf("slot=%s on_deadline=%s by %s\n", other.Slot, other.OnDeadline,
		other.ID))
}

func explainID(_ *world, a *args) (string, error) {
	text := ""
	for _, e := range explain.New(contract.Load(), nil).Find(a.words["ID"]) {
		text += strings.TrimSpace(fmt.Sprintf("%s, %s %s", e.ID, e.Kind, e.Name)) + "\n  " + e.Doc + "\n"
		for _, f := range e.Says {
			text += fmt.Sprintf("  %s: %s\n", f.Name, f.Text)
		}
		text += fmt.Sprintf("  requirements: %s\n", strings.Join(e.Requirements, " "))
	}
	if text == "" {
		return "", fmt.Errorf("the contract knows no %s", a.words["ID"])
	}
	return text, nil
}

// checkForgedLog forges a copy of a run's log and has the contract judge it.
func checkForgedLog(w *world, a *args) (string, error) {
	stored, err := w.events(a.words["RUN"], 0, store.MaxBatch)
	if err != nil {
		return formatError(err), nil
	}
	log := make([][]byte, len(stored))
	for i, e := range stored {
		log[i] = e.Body
	}
	for line := range strings.Lines(a.body) {
		if log, err = forge(log, strings.TrimSpace(line)); err != nil {
			return "", err
		}
	}
	report, err := audit.Check(bytes.NewReader(bytes.Join(log, []byte("\n"))))
	if err != nil {
		return "", err
	}
	if v := report.First(); v != nil {
		return fmt.Sprintf("line %d breaks %s: %s\n", v.Line, v.Invariant, v.Explanation), nil
	}
	return fmt.Sprintf("%d events keep every invariant\n", report.Lines), nil
}

// forge changes a log. Events are named by their numbers in the original.
func forge(log [][]byte, line string) ([][]byte, error) {
	words, err := split(line)
	if err != nil {
		return nil, err
	}
	numbers := make([]int, 0, 2)
	for _, w := range words[1:min(3, len(words))] {
		if n, err := strconv.Atoi(w); err == nil && n >= 1 && n <= len(log) {
			numbers = append(numbers, n-1)
		}
	}
	log = slices.Clone(log)
	switch {
	case words[0] == "without" && len(words) == 2 && len(numbers) == 1:
		return slices.Delete(log, numbers[0], numbers[0]+1), nil
	case words[0] == "twice" && len(words) == 2 && len(numbers) == 1:
		return slices.Insert(log, numbers[0]+1, log[numbers[0]]), nil
	case words[0] == "swap" && len(words) == 3 && len(numbers) == 2:
		log[numbers[0]], log[numbers[1]] = log[numbers[1]], log[numbers[0]]
		return log, nil
	case words[0] == "change" && len(words) == 4 && len(numbers) >= 1:
		from, _ := unquoted(words[2])
		to, _ := unquoted(words[3])
		changed := bytes.Replace(log[numbers[0]], []byte(from), []byte(to), 1)
		if bytes.Equal(changed, log[numbers[0]]) {
			return nil, fmt.Errorf("event %s has no %s", words[1], from)
		}
		log[numbers[0]] = changed
		return log, nil
	}
	return nil, fmt.Errorf("a log is forged by without N, twice N, swap N M or change N OLD NEW, and not by %q", line)
}
