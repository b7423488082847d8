package flow_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/engine/flow/toolloop"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
)

// payer is a model that requests two payments in one answer, then answers with the results.
type payer struct{}

func (payer) User(text string) any { return text }

func (payer) Results(results []toolloop.Result) (all []any) {
	for _, r := range results {
		all = append(all, r.Text)
	}
	return all
}

func (payer) Next(_ context.Context, r toolloop.Request) (toolloop.Answer, error) {
	if len(r.Messages) == 1 {
		return toolloop.Answer{Message: "pay", Calls: []toolloop.Call{
			{ID: "a", Tool: "pay", Arguments: json.RawMessage(`{"eur":1}`)},
			{ID: "b", Tool: "pay", Arguments: json.RawMessage(`{"eur":2}`)}}}, nil
	}
	return toolloop.Answer{Message: "paid", Text: string(r.Messages[2]) + string(r.Messages[3])}, nil
}

// loop is an agent; its tool writes key and arguments into the ledger.
func loop(ledger *cast.Journal[string]) engine.Engine {
	return flow.New("loop", toolloop.Loop{Model: payer{}, Tools: []toolloop.Tool{{Name: "pay",
		Run: func(ctx context.Context, arguments json.RawMessage) (string, error) {
			line := flow.Key(ctx) + " " + string(arguments)
			return string(arguments), ledger.Add(line)
		}}}}.Run)
}

// M1 K4: the host of a tool loop is killed right before and right after its commits. Repeated calls
// have the same key, and the edited arguments are executed.
func TestM1K4LoopsAreKilledAtTheirPointsOnSQLite(t *testing.T) {
	const first, second = `r/3/pay {"eur":1}`, `r/4/pay {"eur":3}`
	for i, c := range []struct {
		points []string
		ledger []string
	}{
		{[]string{"before-model", "before-pay"}, []string{first, first, second}},
		{[]string{"after-model", "after-pay"}, []string{first, second}},
		{[]string{"after-asked", "before-ended"}, []string{first, second}},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			d := newDrill(t, filepath.Join(t.TempDir(), "runs.db"), 5*time.Minute)
			for n := range len(c.points) + 1 {
				h := d.host
				if n < len(c.points) {
					h.Point, h.Orders = c.points[n], 1
				}
				host := d.start(h)
				if n == 0 {
					submit(d.ctx, t, d.client, lifecycle.Spec{ID: "r", Engine: "loop", Prompt: "x"})
				}
				d.decide(host, n < len(c.points))
			}
			run, err := d.client.Get(d.ctx, "r")
			require.NoError(t, err)
			require.Equal(t, lifecycle.StateSucceeded, run.State, "%+v", run.Error)
			require.Contains(t, run.FinalText, "changed before the call")
			require.Equal(t, c.ledger, d.noted())
		})
	}
}

// decide answers as a person: it approves the first call and edits the second. It returns when the
// host is dead or the run has ended.
func (d *drill) decide(host *cast.Host, dies bool) {
	d.Helper()
	for ; ; rest(d.ctx) {
		require.NoError(d, d.ctx.Err())
		page, err := d.client.Inbox(d.ctx, lifecycle.InboxQuery{Limit: 1000})
		require.NoError(d, err)
		for _, q := range page.Questions {
			r := lifecycle.Reply{ID: q.Question.ID, Decision: lifecycle.Approve, Seen: q.Question.Digest()}
			if string(q.Question.Subject.Arguments) == `{"eur":2}` {
				r.Decision, r.Value = lifecycle.Edit, json.RawMessage(`{"eur":3}`)
			}
			_, err := d.client.Reply(d.ctx, q.RunID, r)
			require.NoError(d, err)
		}
		select {
		case <-host.Done():
			require.True(d, dies, "the host dies: %v", host.Err())
			require.EqualError(d, host.Err(), "signal: killed")
			return
		default:
			if !dies && d.ended("r") {
				d.kill(host)
				return
			}
		}
	}
}
