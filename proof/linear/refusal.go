package linear

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Refusal is a history that could not have happened, with the files that show it.
type Refusal struct {
	HTML string // porcupine's picture of the history
	Text string // the calls by time, and the longest order that the model accepts
	Why  string // the calls of which none can be next in that order
}

// Spec is a sequential specification. It can also return the answer that it expects to a call.
type Spec struct {
	porcupine.Model
	Why func(state, input, output any) string
}

// Decide searches for an order in which the history could have happened. It gives up with
// porcupine.Unknown when the patience is over.
func (s Spec) Decide(history []porcupine.Operation, patience time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(s.Model, history, patience)
}

// Explain writes a refused history into the folder, in files with the given name. To do so it
// decides the history once more, within the patience.
func (s Spec) Explain(dir, name string, history []porcupine.Operation, patience time.Duration) (Refusal, error) {
	_, info := porcupine.CheckOperationsVerbose(s.Model, history, patience)
	r := Refusal{HTML: filepath.Join(dir, name+".html"), Text: filepath.Join(dir, name+".txt")}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return r, fmt.Errorf("linear: %w", err)
	}
	if err := porcupine.VisualizePath(s.Model, info, r.HTML); err != nil {
		return r, fmt.Errorf("linear: draw: %w", err)
	}
	text, why := s.readable(history, info)
	r.Why = why
	if err := os.WriteFile(r.Text, []byte(text+why), 0o640); err != nil {
		return r, fmt.Errorf("linear: %w", err)
	}
	return r, nil
}

// readable lists the calls in the order in which they were made, and the longest order that the
// model accepts, with its states; and why it is no longer.
func (s Spec) readable(history []porcupine.Operation, info porcupine.LinearizationInfo) (order, why string) {
	var text, end strings.Builder
	sorted := slices.Clone(history)
	slices.SortStableFunc(sorted, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	fmt.Fprintf(&text, "%d calls: called, returned, by whom, what\n", len(sorted))
	for _, op := range sorted {
		returned := fmt.Sprint(op.Return)
		if op.Return == math.MaxInt64 {
			returned = "never"
		}
		fmt.Fprintf(&text, "%6d %6s  client %d: %s\n", op.Call, returned, op.ClientId, s.DescribeOperation(op.Input,
			op.Output))
	}
	for _, partition := range info.PartialLinearizationsOperations() {
		var longest []porcupine.Operation
		for _, order := range partition {
			if len(order) > len(longest) {
				longest = order
			}
		}
		fmt.Fprintf(&text, "\nThe longest order that the model follows has %d of them:\n", len(longest))
		state := s.Init()
		for _, op := range longest {
			_, state = s.Step(state, op.Input, op.Output)
			fmt.Fprintf(&text, "  %s\n      %s\n", s.DescribeOperation(op.Input, op.Output), s.DescribeState(state))
		}
		stuck := blocked(sorted, longest)
		fmt.Fprintf(&end, "\nThen none of these can be next:\n")
		for _, op := range stuck {
			fmt.Fprintf(&end, "  %s\n", s.DescribeOperation(op.Input, op.Output))
			fmt.Fprintf(&end, "      the model answers: %s\n", s.Why(state, op.Input, op.Output))
		}
	}
	return text.String(), end.String()
}

// blocked returns the calls that could come next by their times.
func blocked(history, order []porcupine.Operation) (next []porcupine.Operation) {
	type moment struct{ call, returned int64 }
	done := make(map[moment]bool)
	for _, op := range order {
		done[moment{op.Call, op.Return}] = true
	}
	earliest := int64(math.MaxInt64)
	for _, op := range history {
		if !done[moment{op.Call, op.Return}] {
			earliest = min(earliest, op.Return)
		}
	}
	for _, op := range history {
		if !done[moment{op.Call, op.Return}] && op.Call <= earliest {
			next = append(next, op)
		}
	}
	return next
}
