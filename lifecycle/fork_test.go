package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// collector is an engine that asks three questions and then returns its answers: its state is all
// that it knows.
func collector() engine.Engine {
	return engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		known := string(t.State())
		for _, a := range t.Answers {
			known += a.Text + ";"
		}
		if strings.Contains(known, "fail;") {
			return engine.Outcome{}, errors.New("told to fail")
		}
		if n := strings.Count(known, ";"); n < 3 {
			o := engine.Ask(engine.Question{Kind: engine.OpenText, Prompt: fmt.Sprintf("Question %d?", n+1)})
			return o.WithState([]byte(known + " ")), nil
		}
		return engine.Done(known), nil
	})
}

// answered submits a run and replies to its questions.
func answered(tb testing.TB, lc *Lifecycle, spec Spec, replies ...string) Run {
	tb.Helper()
	_, err := lc.Submit(tb.Context(), spec)
	require.NoError(tb, err)
	return replied(tb, lc, spec.ID, replies...)
}

// replied replies to the questions of a run, the first one on.
func replied(tb testing.TB, lc *Lifecycle, id string, replies ...string) Run {
	tb.Helper()
	synctest.Wait()
	for i, text := range replies {
		_, err := lc.Reply(tb.Context(), id, Reply{ID: i + 1, Text: text, Actor: Actor{ID: "ada"}})
		require.NoError(tb, err)
		synctest.Wait()
	}
	run, err := lc.Get(tb.Context(), id)
	require.NoError(tb, err)
	return run
}

// wholeLog are all events of a run.
func wholeLog(tb testing.TB, s store.Store, id string) (bodies []string) {
	tb.Helper()
	events, err := s.Events(tb.Context(), id, 0, store.MaxBatch)
	require.NoError(tb, err)
	for _, e := range events {
		bodies = append(bodies, string(e.Body))
	}
	return bodies
}

// requireSoundLog checks that the run's log is a valid one by itself.
func requireSoundLog(tb testing.TB, s store.Store, id string) {
	tb.Helper()
	c := audit.NewChecker()
	for _, body := range wholeLog(tb, s, id) {
		require.Empty(tb, c.Line([]byte(body)))
	}
}

// J6, A1: a run can be forked from a settled question, with the stored answer or with another one,
// while the run is still active and after it has ended. The fork starts with the session, history
// and answers up to that question. The original run stays the same byte for byte. Each of the two
// can be found from the other.
func TestJ6ForkOfASettledQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		spec := Spec{ID: "r", Prompt: "x", Key: "tenant", Priority: 3, Labels: map[string]string{"team": "blue"},
			Meta: map[string]string{"trace": "1"}}
		answered(t, lc, spec, "a", "b")
		before, record := wholeLog(t, s, "r"), replied(t, lc, "r")

		same, err := lc.Fork(t.Context(), "r", At{Question: 1, ID: "same"})
		require.NoError(t, err)
		require.Equal(t, &ForkPoint{RunID: "r", Question: 1}, same.ForkedFrom)
		require.Equal(t, []any{"tenant", 3, spec.Labels}, []any{same.Key, same.Priority, same.Labels})
		require.Nil(t, same.Together, "one question was asked")
		_, err = lc.Fork(t.Context(), "r", At{Question: 2, ID: "other",
			Answer: Reply{Text: "B", Actor: Actor{ID: "bob"}},
			Change: func(s *Spec) { s.Key, s.Labels = "tenant 2", nil }})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, before, wholeLog(t, s, "r"))
		require.Equal(t, record, replied(t, lc, "r"), "the other run is as it was")

		require.Equal(t, "a; b2; c2;", replied(t, lc, "same", "b2", "c2").FinalText)
		other := replied(t, lc, "other", "C")
		require.Equal(t, "a; B; C;", other.FinalText)
		require.Equal(t, []any{"tenant 2", map[string]string(nil), 1}, []any{other.Key, other.Labels,
			other.Interactions})

		history, err := lc.Inherited(t.Context(), "other")
		require.NoError(t, err)
		require.Len(t, history, 2)
		require.Equal(t, []any{2, "Question 2?", "B", "bob", interaction.UserReply}, []any{history[1].Question.ID,
			history[1].Question.Prompt, history[1].Response, history[1].Actor, history[1].Resolution})
		own, err := lc.History(t.Context(), "other")
		require.NoError(t, err)
		require.Len(t, own, 1)
		require.Equal(t, []any{1, "Question 3?"}, []any{own[0].Question.ID, own[0].Question.Prompt})
		require.Nil(t, own[0].Session)

		page, err := lc.Runs(t.Context(), Query{ForkedFrom: "r"})
		require.NoError(t, err)
		require.Len(t, page.Runs, 2)
		for _, id := range []string{"r", "same", "other"} {
			requireSoundLog(t, s, id)
		}
		require.Contains(t, wholeLog(t, s, "other")[0], `"forked_from":{"interaction_id":2,"run_id":"r"}`)
		require.Contains(t, wholeLog(t, s, "other")[0], `"protocol_version":"fcmp/1.1"`)
		require.Contains(t, wholeLog(t, s, "r")[0], `"protocol_version":"fcmp/1.0"`)

		_, err = lc.Reply(t.Context(), "r", Reply{ID: 3, Text: "c"})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "a; b; c;", in(t, lc.Client, "r", StateSucceeded).FinalText)
		_, err = lc.Fork(t.Context(), "other", At{Question: 1, ID: "fork of a fork", Answer: Reply{Text: "D"}})
		require.ErrorIs(t, err, ErrInvalidArgument)
		_, err = lc.Fork(t.Context(), "other", At{Question: 1, ID: "fork-of-a-fork", Answer: Reply{Text: "D"}})
		require.NoError(t, err)
		require.Equal(t, "a; B; D;", replied(t, lc, "fork-of-a-fork").FinalText)
		history, err = lc.Inherited(t.Context(), "fork-of-a-fork")
		require.NoError(t, err)
		require.Len(t, history, 3)
		var parts []Record
		for q := (HistoryQuery{Limit: 1, Newest: true}); len(parts) == 0 || q.After != ""; {
			part, err := lc.InheritedPage(t.Context(), "fork-of-a-fork", q)
			require.NoError(t, err)
			require.Len(t, part.Records, 1)
			parts, q.After = append(part.Records, parts...), part.Next
		}
		require.Equal(t, history, parts, "page by page, though two of them have the same number")
		none, err := lc.Inherited(t.Context(), "r")
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// J6: a failed run continues from its end: its last turn is executed again with the same answer, or
// continues with another text.
func TestJ6ForkOfAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		fails := true
		inner := collector().(engine.Func)
		lc, stop := serve(t, Config{Store: s, Engine: engine.Func(func(ctx context.Context, t engine.Turn,
			s engine.Sink) (engine.Outcome, error) {
			if fails && t.Attempt == 2 {
				return engine.Outcome{}, errors.New("503")
			}
			return inner(ctx, t, s)
		})})
		defer stop()
		require.Equal(t, StateFailed, answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a").State)
		fork := func(from string, at At) string {
			run, err := lc.Fork(t.Context(), from, at)
			require.NoError(t, err)
			return run.ID
		}
		fails = false
		require.Equal(t, "a; b; c;", replied(t, lc, fork("r", At{}), "b", "c").FinalText)
		require.Equal(t, "A; b; c;", replied(t, lc, fork("r", At{Answer: Reply{Text: "A"}}), "b", "c").FinalText)

		t.Log("a run that ended while its question was open wants a reply to it")
		answered(t, lc, Spec{ID: "canceled", Prompt: "x"}, "a")
		require.NoError(t, lc.Cancel(t.Context(), "canceled", ""))
		for _, at := range []At{{}, {Question: 2}} {
			_, err := lc.Fork(t.Context(), "canceled", at)
			require.ErrorIs(t, err, ErrCannotFork)
			require.ErrorContains(t, err, "question 2 has no answer")
			at.Answer.Text = "b"
			require.Equal(t, "a; b; c;", replied(t, lc, fork("canceled", at), "c").FinalText)
		}

		t.Log("a run that has succeeded wants something to do")
		answered(t, lc, Spec{ID: "done", Prompt: "x"}, "a", "b", "c")
		_, err := lc.Fork(t.Context(), "done", At{})
		require.ErrorIs(t, err, ErrCannotFork)
		require.Equal(t, "a; b; d;", replied(t, lc, fork("done", At{Answer: Reply{Text: "d"}})).FinalText)

		t.Log("a run that was told nothing begins anew")
		require.NoError(t, lc.Cancel(t.Context(), answered(t, lc, Spec{ID: "later", Prompt: "x",
			NotBefore: lc.proc.Clock.Now().AddDate(1, 0, 0)}).ID, ""))
		require.Equal(t, "a; b; c;", replied(t, lc, fork("later", At{}), "a", "b", "c").FinalText)

		t.Log("a fork that has failed in its first turn is forked with the answer that it began with")
		fails = true
		answered(t, lc, Spec{ID: "again", Prompt: "x"}, "fail")
		first := fork("again", At{})
		require.Equal(t, StateFailed, replied(t, lc, first).State)
		second, err := lc.Fork(t.Context(), first, At{})
		require.NoError(t, err)
		require.Equal(t, "fail", second.Answers[0].Text)
		require.Equal(t, StateFailed, replied(t, lc, second.ID).State)
	})
}

// J6: what cannot be forked is refused with the reason, and nothing is stored.
func TestJ6Refusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		cannot := agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) { return asking("?"), nil }}
		sticky := agent{profile: func() (engine.Profile, error) {
			return engine.Profile{Kind: fsm.ProfileStickyProcess}, nil
		},
			turn: cannot.turn}
		lc, stop := serve(t, Config{Store: s, Engine: collector(), Engines: map[string]engine.Engine{
			"cannot": cannot, "sticky": sticky,
		}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
		answered(t, lc, Spec{ID: "named", Prompt: "x", Engine: "cannot"}, "a")
		answered(t, lc, Spec{ID: "sticky", Prompt: "x", Engine: "sticky"}, "a")
		for name, c := range map[string]struct {
			id    string
			at    At
			is    error
			words string
		}{
			"no run":            {"none", At{}, ErrNotFound, ""},
			"open":              {"r", At{Question: 2}, ErrCannotFork, "question 2 is open"},
			"never asked":       {"r", At{Question: 9}, ErrCannotFork, "it has asked 2 questions"},
			"not ended":         {"r", At{}, ErrCannotFork, "it is waiting_user and has not ended"},
			"cannot branch":     {"named", At{Question: 1}, ErrCannotFork, `engine "cannot" cannot branch a session`},
			"resident":          {"sticky", At{Question: 1}, ErrCannotFork, "resident process"},
			"its own id":        {"r", At{Question: 1, ID: "r"}, ErrSpecConflict, ""},
			"the id of another": {"r", At{Question: 1, ID: "named"}, ErrSpecConflict, ""},
			"another engine": {"r", At{Question: 1, Change: func(s *Spec) { s.Engine = "cannot" }}, ErrInvalidSpec,
				"Engine"},
			"a bad spec": {"r", At{Question: 1, Change: func(s *Spec) {
				s.Priority = 1e6
			}}, ErrInvalidSpec, "Priority"},
			"no pool": {"r", At{Question: 1, Change: func(s *Spec) { s.Pool = "none" }}, ErrUnknownPool, ""},
		} {
			_, err := lc.Fork(t.Context(), c.id, c.at)
			require.ErrorIs(t, err, c.is, name)
			require.ErrorContains(t, err, c.words, name)
		}
		page, err := lc.Runs(t.Context(), Query{})
		require.NoError(t, err)
		require.Len(t, page.Runs, 3)

		t.Log("a client without engines cannot ask them: the fork fails in its first turn")
		fork, err := clientOf(t, s).Fork(t.Context(), "named", At{Question: 1})
		require.NoError(t, err)
		failed := replied(t, lc, fork.ID)
		require.Equal(t, StateFailed, failed.State)
		require.Equal(t, fsm.CodeSessionResumeFailed, failed.Error.Code)
		require.Contains(t, failed.Error.Message, "cannot branch the session of run named")
		requireSoundLog(t, s, fork.ID)
	})
}

// J6: Fork with an id gives one fork, however often and from wherever it is called, also when the
// other run has continued or was pruned since.
func TestJ6ForkIsIdempotent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
		at := At{Question: 1, ID: "f", Answer: Reply{Text: "A"}, Actor: Actor{ID: "ada"},
			Change: func(s *Spec) { s.Key = "k" }}
		var (
			calls sync.WaitGroup
			made  atomic.Int64
		)
		for range 20 {
			calls.Go(func() {
				run, known, err := lc.GetOrFork(t.Context(), "r", at)
				if err != nil || run.ID != "f" {
					t.Error(run.ID, err)
				}
				if !known {
					made.Add(1)
				}
			})
		}
		calls.Wait()
		require.Equal(t, int64(1), made.Load(), "one call says that it made the fork")
		page, err := lc.Runs(t.Context(), Query{ForkedFrom: "r"})
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)

		again := func(change func(*At)) error {
			at := at
			change(&at)
			_, err := lc.Fork(t.Context(), "r", at)
			return err
		}
		differently := map[string]func(*At){
			"another reply":    func(at *At) { at.Answer.Text = "B" },
			"the stored reply": func(at *At) { at.Answer, at.Actor = Reply{}, Actor{} },
			"another actor":    func(at *At) { at.Actor = Actor{ID: "bob"} },
			"another spec":     func(at *At) { at.Change = func(s *Spec) { s.Key = "other" } },
		}
		for name, change := range differently {
			require.ErrorIs(t, again(change), ErrSpecConflict, name)
		}
		_, err = lc.Submit(t.Context(), Spec{ID: "f", Prompt: "x", Key: "k"})
		require.ErrorIs(t, err, ErrSpecConflict)

		require.NoError(t, lc.Cancel(t.Context(), "r", ""))
		pass(time.Second)
		require.Equal(t, "A; b; c;", replied(t, lc, "f", "b", "c").FinalText)
		n, err := s.Prune(t.Context(), lc.proc.Clock.Now().AddDate(1, 0, 0), 1)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		fork, known, err := lc.GetOrFork(t.Context(), "r", at)
		require.NoError(t, err, "the fork is there, though the other run is not")
		require.True(t, known)
		require.Equal(t, in(t, lc.Client, "f", StateSucceeded), fork)
		guarded, err := NewClient(ClientConfig{Store: s, Authorize: func(context.Context, Access) error {
			return errors.New("no")
		}})
		require.NoError(t, err)
		defer guarded.Close()
		_, err = guarded.Fork(t.Context(), "r", at)
		require.ErrorIs(t, err, ErrNotAllowed, "who may not fork is not told of forks")
		for name, change := range differently {
			require.ErrorIs(t, again(change), ErrNotFound, name)
		}
		history, err := lc.Inherited(t.Context(), "f")
		require.NoError(t, err)
		require.Len(t, history, 1, "nothing is lost with the other run")
	})
}

// brancher is an engine with sessions: a handle names one, and a branch is a copy.
type brancher struct {
	agent
	branch func(p engine.BranchPoint, t engine.Turn) (engine.SessionHandle, error)
	can    func(p engine.BranchPoint) error
}

func (b brancher) CanBranch(_ context.Context, p engine.BranchPoint) error {
	if b.can == nil {
		return nil
	}
	return b.can(p)
}

func (b brancher) Branch(_ context.Context, p engine.BranchPoint, t engine.Turn) (engine.SessionHandle, error) {
	return b.branch(p, t)
}

func named(session string) engine.SessionHandle {
	return engine.SessionHandle{Engine: "agent", Version: "1", Data: []byte(session)}
}

// J6: in the fork's first turn the engine branches the session, once stored never again, with the
// folders of the other run; the turn continues with the branch and the inherited history.
func TestJ6TheFirstTurnBranches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		var points []engine.BranchPoint
		var turns []engine.Turn
		e := brancher{
			agent: agent{turn: func(_ context.Context, t engine.Turn) (engine.Outcome, error) {
				turns = append(turns, t)
				o := asking("?")
				if t.Session != nil {
					o.Session = nil
				}
				if t.RunID == "f" && t.Attempt == 1 {
					return engine.Outcome{}, engine.Later(0, "503")
				}
				return o, nil
			}},
			branch: func(p engine.BranchPoint, _ engine.Turn) (engine.SessionHandle, error) {
				points = append(points, p)
				return named("branch"), nil
			},
		}
		lc, stop := serve(t, Config{Store: s, Engine: e, Dir: t.TempDir(), Retry: &Retry{Max: 3}})
		defer stop()
		answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
		folder, err := lc.Folder(t.Context(), "r")
		require.NoError(t, err)
		_, err = lc.Fork(t.Context(), "r", At{Question: 1, ID: "f"})
		require.NoError(t, err)
		for range 100 {
			if run := replied(t, lc, "f"); run.State == StateWaitingUser {
				break
			}
			pass(time.Second)
		}
		run := in(t, lc.Client, "f", StateWaitingUser)
		require.Equal(t, 2, run.Attempt)
		branch := named("branch")
		require.Equal(t, &branch, run.Session)
		require.Equal(t, []engine.BranchPoint{{RunID: "r", Session: named("session"), WorkDir: folder + "/work",
			HomeDir: folder + "/home"}}, points, "the second try goes on with the stored branch")
		for _, turn := range turns[2:] {
			require.Equal(t, &branch, turn.Session)
			require.Equal(t, "a", turn.Answers[0].Text)
			require.Len(t, turn.Inherited, 1)
		}
		require.Len(t, turns, 4)
		require.Equal(t, "session", string(in(t, lc.Client, "r", StateWaitingUser).Session.Data))
		requireSoundLog(t, s, "f")
	})
}

// J6: an engine that refuses to branch, panics, exits or returns no handle costs the fork, and
// nothing else.
func TestJ6ABranchFails(t *testing.T) {
	for name, branch := range map[string]func(engine.BranchPoint, engine.Turn) (engine.SessionHandle, error){
		"refuses": func(engine.BranchPoint, engine.Turn) (h engine.SessionHandle, _ error) {
			return h, engine.ErrHandleRefused
		},
		"no handle": func(engine.BranchPoint, engine.Turn) (h engine.SessionHandle, _ error) { return h, nil },
		"panics":    func(engine.BranchPoint, engine.Turn) (engine.SessionHandle, error) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStore(t)
				e := brancher{agent: agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
					return asking("?"), nil
				}}, branch: branch, can: func(p engine.BranchPoint) error {
					if p.AtRest {
						return errors.New("it is at rest")
					}
					return nil
				}}
				lc, stop := serve(t, Config{Store: s, Engine: e})
				defer stop()
				answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
				fork, err := lc.Fork(t.Context(), "r", At{Question: 1})
				require.NoError(t, err)
				failed := replied(t, lc, fork.ID)
				require.Equal(t, StateFailed, failed.State)
				require.Contains(t, []fsm.Code{fsm.CodeSessionResumeFailed, fsm.CodeEngineFailed}, failed.Error.Code)
				requireSoundLog(t, s, fork.ID)
				require.NoError(t, lc.Cancel(t.Context(), "r", ""))
				_, err = lc.Fork(t.Context(), "r", At{Answer: Reply{Text: "b"}})
				require.ErrorIs(t, err, ErrCannotFork, "CanBranch is asked")
				require.ErrorContains(t, err, "it is at rest")
			})
		})
	}
}

// J6, J14: questions settled by an earlier release have no session. The run's current session is
// the last question's as long as no turn has started since; otherwise Fork refuses.
func TestJ6QuestionsOfAnEarlierRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withoutSessions{newStore(t)}
		lc, stop := serve(t, Config{Store: s, Engine: collector()})
		answered(t, lc, Spec{ID: "r", Prompt: "x"}, "a")
		stop()
		_, err := lc.Reply(t.Context(), "r", Reply{ID: 2, Text: "b"})
		require.NoError(t, err)
		_, err = lc.Fork(t.Context(), "r", At{Question: 1})
		require.ErrorIs(t, err, ErrCannotFork)
		require.ErrorContains(t, err, "the session of question 1 was not kept")
		_, err = lc.Fork(t.Context(), "r", At{Question: 2, ID: "f", Answer: Reply{Text: "B"}})
		require.NoError(t, err)
		lc, stop = serve(t, Config{Store: s, Engine: collector()})
		defer stop()
		require.Equal(t, "a; B; c;", replied(t, lc, "f", "c").FinalText)
	})
}

// withoutSessions is a store that, like earlier releases, does not save the session with a settled
// question.
type withoutSessions struct{ *memory.Store }

func (s withoutSessions) Commit(ctx context.Context, batch []store.Commit) []error {
	for i := range batch {
		for k := range batch[i].Settled {
			batch[i].Settled[k].Session = nil
		}
	}
	return s.Store.Commit(ctx, batch)
}

// J6: a process that does not have the engine says so, rather than that the engine cannot branch.
func TestJ6ForkWhereTheEngineIsNotConfigured(t *testing.T) {
	c := clientOf(t, newStore(t))
	c.proc.Engines = map[string]engine.Engine{"other": agent{}}
	err := c.checkBranch(t.Context(), "agent", &decide.Origin{})
	require.ErrorIs(t, err, ErrInvalidSpec)
	require.NotErrorIs(t, err, ErrCannotFork)
}

// J6: a fork inherits as much as can be stored, and no more.
func TestJ6HowMuchAForkInherits(t *testing.T) {
	s := newStore(t)
	_, body, err := Spec{ID: "r", Prompt: "x"}.record(noon)
	require.NoError(t, err)
	source := forkSource{ForkSource: decide.ForkSource{
		Run: Run{ID: "r", State: fsm.StateFailed, Attempt: 1, Interactions: 1, Profile: fsm.ProfileResumable,
			Session: &SessionHandle{Engine: "agent"}},
		Settled: []Record{{
			Question: interaction.Question{ID: 1, Attempt: 1}, Resolution: interaction.UserReply, Response: "yes"}}}}
	at := At{Question: 1}
	from, err := source.inheritance(&at, noon)
	require.NoError(t, err)
	least, err := json.Marshal(from)
	require.NoError(t, err)
	room := decide.MaxOrigin - len(least)
	for prompt, refused := range map[string]bool{strings.Repeat("x", room): false, strings.Repeat("x", room+1): true} {
		record := source.Settled[0]
		record.Question.Prompt = prompt
		c := clientOf(t, remembering{s, source.Run, record, body})
		_, _, err := c.draftFork(t.Context(), "r", &at, noon)
		if refused {
			require.ErrorIs(t, err, ErrCannotFork)
			require.ErrorContains(t, err,
				"run r has a history and a journal of 16777217 bytes, a fork inherits at most 16777216 bytes")
		} else {
			require.NoError(t, err)
		}
	}
}

// remembering is a store that always returns the same run and the same settled question.
type remembering struct {
	store.Store
	run    Run
	record Record
	spec   []byte
}

func (s remembering) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

func (s remembering) History(context.Context, string, store.HistoryQuery) (Run, []Record, error) {
	return s.run, []Record{s.record}, nil
}

func (s remembering) Spec(context.Context, string) ([]byte, error) { return s.spec, nil }

// J6 J14: a stored list that is not the form of a fork is an error.
func TestJ6DecodeSubmittedRefusesOtherLists(t *testing.T) {
	for _, body := range []string{"", "[", "[]", "[{}]", "[{},{},{}]", "[1,{}]"} {
		_, _, err := decodeSubmitted("f", []byte(body))
		require.Error(t, err, body)
	}
	_, from, err := decodeSubmitted("f", []byte(`[{"run_id":"r"},{"prompt":"x"}]`))
	require.NoError(t, err)
	require.Equal(t, "r", from.RunID)
}

// J6: the id of a run that is no fork is never a fork's, however alike they are.
func TestJ6ARunIsNoFork(t *testing.T) {
	c := clientOf(t, newStore(t))
	_, err := c.Submit(t.Context(), Spec{ID: "f", Prompt: "x"})
	require.NoError(t, err)
	for _, id := range []string{"f", "none"} {
		_, ok := c.existingFork(t.Context(), "r", &At{Question: 1, ID: id})
		require.False(t, ok)
	}
}
