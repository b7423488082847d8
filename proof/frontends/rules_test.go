package frontends_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store"
)

// hangs is the version of a rule that never decides.
const hangs = "hangs"

// serveRules serves runs that ask for one approval each. Its rule approves all, unless it hangs. It
// prints a line when it serves, and one for each question that it is to decide.
func (n *node) serveRules(ctx context.Context, s store.Store) error {
	pays := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		if len(t.Answers) > 0 && (!n.Remember || t.Answers[0].ID > 1) {
			return engine.Done(string(t.Answers[0].Decision)), nil
		}
		return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?",
			Subject: &interaction.Subject{Tool: "pay"}}), nil
	})
	var remember time.Duration
	if n.Remember {
		remember = time.Hour
	}
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: pays, Lease: time.Minute, PolicyTimeout: time.Minute,
		OnInterrupt: lifecycle.Repeat, Logger: slog.New(slog.DiscardHandler), Remember: remember,
		Policy: func(ctx context.Context, p lifecycle.Proposal) (lifecycle.Ruling, error) {
			if n.Remember && p.Question.ID == 1 {
				return lifecycle.Ruling{}, nil
			}
			fmt.Println(p.RunID)
			if n.Rule == hangs {
				<-ctx.Done()
			}
			if n.Remember {
				return lifecycle.Ruling{}, ctx.Err()
			}
			return lifecycle.Ruling{Decision: lifecycle.Approve, Rule: "all", Version: n.Rule}, ctx.Err()
		}})
	if err != nil {
		return err
	}
	fmt.Println("serves")
	return errors.Join(lc.Serve(ctx), errors.New("it was not killed"))
}

// startRules starts a node. The channel receives the runs whose questions its rule decides.
func startRules(t *testing.T, n node) (*cast.Host, <-chan string) {
	t.Helper()
	lines := make(chan string, 1000)
	h, err := cast.StartHost(t.Context(), n,
		cast.HostOptions{Says: func(line string) { lines <- line }})
	require.NoError(t, err)
	require.Equal(t, "serves", <-lines)
	return h, lines
}

// decideWhileNodesDie has a node find the last question of each run, and kills it (kill -9) before it
// decides. Two other nodes find the questions, one of the two is killed too, and ada rejects half of
// the questions at the same time. No inbox shows a question before. judge gets each run at its end, with
// whether ada's reply was accepted.
func decideWhileNodesDie(t *testing.T, runs int, remember bool, submit func(c *lifecycle.Client, id string),
	judge func(run store.Run, history []interaction.Record, won bool)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs.db")
	s, err := cast.OpenStore(t.Context(), file)
	require.NoError(t, err)
	defer s.Close()
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Remember: time.Hour})
	require.NoError(t, err)
	defer client.Close()
	first, undecided := startRules(t, node{Store: file, Rule: hangs, Remember: remember})
	id := func(i int) string { return fmt.Sprintf("run-%d", i) }
	for i := range runs {
		submit(client, id(i))
	}
	for range runs {
		<-undecided
	}
	require.NoError(t, first.Kill())
	inbox, err := client.Inbox(t.Context(), lifecycle.InboxQuery{})
	require.NoError(t, err)
	require.Empty(t, inbox.Questions)

	second, decides := startRules(t, node{Store: file, Rule: "2", Remember: remember})
	third, decidesToo := startRules(t, node{Store: file, Rule: "3", Remember: remember})
	defer third.Kill()
	select { // either may be the first to find them all
	case <-decides:
	case <-decidesToo:
	}
	question := 1
	if remember {
		question = 2
	}
	var people errgroup.Group
	won := make([]bool, runs)
	for i := 0; i < runs; i += 2 {
		people.Go(func() error {
			_, err := client.As(lifecycle.Actor{ID: "ada"}).Reply(t.Context(), id(i),
				lifecycle.Reply{ID: question, Decision: lifecycle.Reject, Key: "key"})
			if won[i] = err == nil; errors.Is(err, lifecycle.ErrSettled) {
				return nil
			}
			return err
		})
	}
	require.NoError(t, second.Kill())
	require.NoError(t, people.Wait())
	checker := audit.NewChecker()
	for i := range runs {
		run, err := client.Wait(t.Context(), id(i))
		require.NoError(t, err)
		history, err := client.History(t.Context(), id(i))
		require.NoError(t, err)
		require.Len(t, history, question)
		require.Equal(t, string(history[question-1].Decision), run.FinalText)
		judge(run, history, won[i])
		events, err := s.Events(t.Context(), id(i), 0, store.MaxBatch)
		require.NoError(t, err)
		for _, e := range events {
			require.Empty(t, checker.Line(e.Body))
		}
	}
	require.Empty(t, checker.Close())
}

// N9: a rule decides once though nodes are killed, and history and events name the author of the
// decision.
func TestN9ARuleDecidesOnceThoughNodesAreKilled(t *testing.T) {
	t.Parallel()
	decideWhileNodesDie(t, 20, false, func(c *lifecycle.Client, id string) {
		_, err := c.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "x",
			Ask: &lifecycle.AskPolicy{To: &lifecycle.Audience{Users: []string{"ada"}}}})
		require.NoError(t, err)
	}, func(run store.Run, history []interaction.Record, won bool) {
		who, decision := history[0].Actor, history[0].Decision
		rule, version := interaction.RuleOf(who)
		require.Equal(t, won, who == "ada", "%s was decided by %s", run.ID, who)
		require.Equal(t, won, decision == lifecycle.Reject)
		require.Equal(t, won, rule == "")
		require.Equal(t, !won, slices.Contains([]string{"2", "3"}, version))
	})
}

// N9: a remembered decision is applied once to a later call though nodes are killed.
func TestN9ARememberedDecisionIsUsedOnceThoughNodesAreKilled(t *testing.T) {
	t.Parallel()
	decideWhileNodesDie(t, 8, true, func(c *lifecycle.Client, id string) {
		_, err := c.Submit(t.Context(), lifecycle.Spec{ID: id, Prompt: "x"})
		require.NoError(t, err)
		for event, err := range c.Events(t.Context(), id, 0) {
			require.NoError(t, err)
			if event.Type == lifecycle.TypeInputRequired {
				break
			}
		}
		_, err = c.As(lifecycle.Actor{ID: "ada"}).Reply(t.Context(), id, lifecycle.Reply{ID: 1,
			Decision: lifecycle.Approve, Remember: &lifecycle.Remember{Until: time.Now().Add(time.Hour)}})
		require.NoError(t, err)
	}, func(_ store.Run, history []interaction.Record, won bool) {
		require.Equal(t, []bool{won, !won}, []bool{history[1].Actor == "ada", history[1].Actor == "memory:1"})
	})
}
