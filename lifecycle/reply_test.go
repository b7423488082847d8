package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// consulted is a store that remembers which lookups a reply cost, and cannot do some.
type consulted struct {
	store.Store
	keys, histories int
	settled         error
	history         error
}

func (s *consulted) Settled(ctx context.Context, id, key string) (interaction.Record, error) {
	s.keys++
	if s.settled != nil {
		return interaction.Record{}, s.settled
	}
	return s.Store.Settled(ctx, id, key)
}

func (s *consulted) History(ctx context.Context, id string, q store.HistoryQuery) (Run, []interaction.Record, error) {
	s.histories++
	if s.history != nil {
		return Run{}, nil, s.history
	}
	return s.Store.History(ctx, id, q)
}

func (s *consulted) Interaction(ctx context.Context, id string, number int) (interaction.Record, error) {
	if s.history != nil {
		return interaction.Record{}, s.history
	}
	return s.Store.Interaction(ctx, id, number)
}

// TestReplyReadsOnlyWhatItNeeds: C5, a key is looked for where an earlier reply could have carried
// it: not with the first question, nor without one.
func TestReplyReadsOnlyWhatItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &consulted{Store: newStore(t)}
		lc, stop := serve(t, Config{Store: s, Engine: asksThrice()})
		reply := func(id int, key string) (interaction.Receipt, error) {
			s.keys, s.histories = 0, 0
			receipt, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes", Key: key})
			pass(time.Second)
			return receipt, err
		}
		submit(t, lc, "r")
		pass(time.Second)
		first, err := reply(1, "a")
		require.NoError(t, err)
		require.Zero(t, s.keys, "the first reply")
		_, err = reply(2, "")
		require.NoError(t, err)
		require.Zero(t, s.keys, "without a key")
		_, err = reply(3, "b")
		require.NoError(t, err)
		require.Equal(t, 1, s.keys, "an earlier reply may have carried it")
		in(t, lc.Client, "r", fsm.StateSucceeded)

		again, err := reply(1, "a")
		require.NoError(t, err)
		first.Replayed = true
		require.Equal(t, first, again)
		require.Equal(t, 1, s.keys)
		require.Zero(t, s.histories)

		_, err = reply(1, "")
		require.EqualError(t, err, "lifecycle: interaction 1 of run r is already settled (user_reply); the run is "+
			"succeeded")
		require.Zero(t, s.keys)
		_, err = reply(4, "")
		require.EqualError(t, err,
			"lifecycle: run r is succeeded and has asked 3 interactions; it is not waiting for 4")
		for asked, words := range map[int]string{0: "no interaction", 1: "1 interaction", 2: "2 interactions"} {
			require.ErrorContains(t, &WaitError{RunID: "r", ID: 4, State: fsm.StateQueued, Asked: asked},
				"run r is queued and has asked "+words+"; it")
		}
		require.Zero(t, s.histories, "it never asked that")
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "no", Key: "a"})
		require.ErrorIs(t, err, ErrKeyConflict)
		require.EqualError(t, err,
			`lifecycle: idempotency key was used for another reply: key "a" settled interaction 1 of run r`)
		stop()
	})
}

// TestLateReplyReadsOneInteraction: C5, however long the history of its run is.
func TestLateReplyReadsOneInteraction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &consulted{Store: newStore(t)}
		lc, stop := serve(t, Config{Store: s, Engine: asksThrice()})
		submit(t, lc, "r")
		for id := 1; id <= 3; id++ {
			pass(time.Second)
			_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes"})
			require.NoError(t, err)
			_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes"})
			require.ErrorIs(t, err, ErrSettled)
		}
		require.Zero(t, s.histories)
		stop()
	})
}

// TestReplyToAnotherInteractionIsAWaitError: C4, and the run waits as before.
func TestReplyToAnotherInteractionIsAWaitError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: asksThrice()})
		submit(t, lc, "r")
		synctest.Wait()
		before := in(t, lc.Client, "r", fsm.StateWaitingUser)
		for id := 2; id <= 3; id++ {
			_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes"})
			require.ErrorIs(t, err, ErrNotWaiting)
			require.EqualError(t, err, fmt.Sprintf("lifecycle: run r waits for interaction 1, not for %d", id))
			var wrong *WaitError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, WaitError{RunID: "r", ID: id, State: fsm.StateWaitingUser, Pending: 1, Asked: 1}, *wrong)
		}
		require.Equal(t, before, in(t, lc.Client, "r", fsm.StateWaitingUser))
		_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.ErrorIs(t, err, ErrSettled)
		require.EqualError(t, err, "lifecycle: interaction 1 of run r is already settled (user_reply); the run is "+
			"waiting_user")
		stop()
	})
}

// TestReplyFailsIfTheStoreCannotBeRead: C5, whether it was accepted is not known then, and
// the error says no more than that.
func TestReplyFailsIfTheStoreCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &consulted{Store: newStore(t), settled: errAway, history: errAway}
		lc, stop := serve(t, Config{Store: s, Engine: asksThrice()})
		submit(t, lc, "r")
		pass(time.Second)
		_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes", Key: "a"})
		require.NoError(t, err)
		pass(time.Second)
		for _, key := range []string{"a", ""} {
			_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes", Key: key})
			require.ErrorIs(t, err, errAway)
			require.EqualError(t, err, "lifecycle: reply to run r: connection refused")
			for _, refusal := range []error{ErrSettled, ErrNotWaiting, ErrKeyConflict, ErrInvalidReply} {
				require.NotErrorIs(t, err, refusal)
			}
		}
		_, err = lc.Reply(t.Context(), "unknown", interaction.Reply{ID: 1, Text: "yes"})
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorContains(t, err, "lifecycle: reply to run unknown: ")
		stop()
	})
}

// rememberer is a store that has a run in memory, however old it is by now.
type rememberer struct {
	store.Store
	run       *Run
	reads     int
	committed int
	lost      bool // the next commit is stored, and its outcome is not reported
}

func (s *rememberer) Recent(string) (run Run, ok bool) {
	if s.run == nil {
		return run, false
	}
	return s.run.Clone(), true
}

func (s *rememberer) Run(ctx context.Context, id string) (Run, error) {
	s.reads++
	return s.Store.Run(ctx, id)
}

func (s *rememberer) Commit(ctx context.Context, batch []store.Commit) []error {
	s.committed++
	errs := s.Store.Commit(ctx, batch)
	if s.lost {
		s.lost = false
		return []error{errAway}
	}
	return errs
}

// TestReplyToARecentRecord: C5, C8, I4, a record that the store has in memory saves the read of the
// run, and decides nothing: a reply is refused for the same reasons as after a read.
func TestReplyToARecentRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t)
		lc, stop := serve(t, Config{Store: s, Engine: asksThrice()})
		defer stop()
		submit(t, lc, "r")
		stored := func() Run {
			run, err := s.Run(t.Context(), "r")
			require.NoError(t, err)
			return run
		}
		queued := stored()
		synctest.Wait()
		first := stored()

		r := &rememberer{Store: s}
		var allowed error
		c, err := NewClient(ClientConfig{Store: r, Authorize: func(context.Context, Access) error { return allowed }})
		require.NoError(t, err)
		defer c.Close()
		reply := func(recent *Run, reply Reply) (Receipt, error) {
			r.run, r.reads, r.committed = recent, 0, 0
			defer synctest.Wait()
			return c.Reply(t.Context(), "r", reply)
		}

		allowed = errAway
		_, err = reply(&first, Reply{ID: 1, Text: "yes"})
		require.ErrorIs(t, err, ErrNotAllowed)
		require.Zero(t, r.committed)
		allowed = nil
		_, err = reply(&first, Reply{ID: 1, Text: "yes", Seen: "another"})
		require.ErrorIs(t, err, ErrQuestionChanged)
		require.Zero(t, r.committed)

		receipt, err := reply(&first, Reply{ID: 1, Text: "yes", Key: "a"})
		require.NoError(t, err)
		require.Zero(t, r.reads, "the record in memory is the present one")
		replayed := receipt
		replayed.Replayed = true
		second := stored()
		require.Equal(t, 2, second.Open[0].ID)

		for _, old := range []*Run{&queued, &first, &second, nil} {
			again, err := reply(old, Reply{ID: 1, Text: "yes", Key: "a"})
			require.NoError(t, err)
			require.Equal(t, replayed, again)
			_, err = reply(old, Reply{ID: 1, Text: "yes"})
			require.ErrorIs(t, err, ErrSettled)
			_, err = reply(old, Reply{ID: 2, Text: "yes", Key: "a"})
			require.ErrorIs(t, err, ErrKeyConflict)
			_, err = reply(old, Reply{ID: 3, Text: "yes"})
			require.ErrorIs(t, err, ErrNotWaiting)
			require.Equal(t, second, stored(), "nothing is written")
		}

		_, err = reply(&queued, Reply{ID: 2, Text: "yes"})
		require.NoError(t, err, "the record in memory is old")
		third := stored()
		require.Equal(t, 3, third.Open[0].ID)

		r.lost = true
		_, err = reply(&third, Reply{ID: 3, Text: "yes", Key: "c"})
		require.ErrorIs(t, err, errAway, "it was stored, but the caller cannot know")
		require.NotErrorIs(t, err, ErrSettled)
		require.Equal(t, 1, r.committed)
		require.Equal(t, fsm.StateSucceeded, stored().State)
	})
}

// C5 K5: the receipt of a reply to a question with an audience goes to its author and to the host.
// A person outside the audience who sends the same text under the same key has answered nothing. A
// question for everybody gives its receipt to every holder of the key.
func TestC5AReceiptBelongsToItsAuthor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: collector()})
		defer stop()
		for id, to := range map[string]*Audience{"open": nil, "asked": {Users: []string{"ada", "cy"}}} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x", Ask: &AskPolicy{To: to}})
			require.NoError(t, err)
			synctest.Wait()
			reply := func(actor string) (Receipt, error) {
				return lc.Reply(t.Context(), id, Reply{ID: 1, Text: "yes", Key: "k", Actor: Actor{ID: actor}})
			}
			first, err := reply("ada")
			require.NoError(t, err)
			first.Replayed = true
			for _, actor := range []string{"ada", "cy", "bob", ""} {
				again, err := reply(actor)
				if id == "asked" && (actor == "cy" || actor == "bob") {
					require.ErrorIs(t, err, ErrSettled, actor)
					require.Zero(t, again)
					continue
				}
				require.NoError(t, err, actor)
				require.Equal(t, first, again)
			}
		}
	})
}

// folded is a person behind a sign-in that does not distinguish upper and lower case.
func folded(id string) Actor { return Actor{ID: strings.ToLower(id), Fold: strings.ToLower} }

// C5 K5: a person's answers, votes and claims under another spelling of the ID are that person's,
// and the event log is valid.
func TestC5K5RecordsOfAnotherSpellingAreTheActors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: engine.Func(func(_ context.Context,
			in engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(in.Answers) > 0 {
				return engine.Done("so"), nil
			}
			q, err := engine.ApprovalOf("Pay?", "pay", 7)
			q.To, q.Need = &Audience{Everybody: true}, map[string]int8{"vote": 2}[in.RunID]
			return engine.Ask(q), err
		})})
		defer stop()
		for _, id := range []string{"answer", "vote", "claim"} {
			_, err := lc.Submit(t.Context(), Spec{ID: id, Prompt: "x"})
			require.NoError(t, err)
		}
		synctest.Wait()
		reply := func(id, key string, actor Actor) (Receipt, error) {
			return lc.Reply(t.Context(), id, Reply{ID: 1, Decision: interaction.Approve, Key: key, Actor: actor})
		}

		for _, id := range []string{"answer", "vote"} {
			first, err := reply(id, "k", Actor{ID: "Ada"})
			require.NoError(t, err)
			first.Replayed = true
			again, err := reply(id, "k", folded("ADA"))
			require.NoError(t, err, id)
			require.Equal(t, first, again)
			_, err = reply(id, "k", folded("bob"))
			require.Error(t, err, id)
		}
		_, err := reply("vote", "other", folded("ADA"))
		require.ErrorIs(t, err, ErrVoted)
		for name, open := range map[string]int{"ada": 1, "bob": 2} {
			page, err := lc.Inbox(t.Context(), InboxQuery{For: folded(name)})
			require.NoError(t, err)
			require.Len(t, page.Questions, open, "a vote is given")
		}

		until := time.Now().Add(time.Hour)
		require.NoError(t, lc.As(Actor{ID: "Ada"}).Claim(t.Context(), "claim", 1, until))
		require.ErrorIs(t, lc.As(folded("bob")).Claim(t.Context(), "claim", 1, until), ErrClaimed)
		require.NoError(t, lc.As(folded("ADA")).Claim(t.Context(), "claim", 1, until.Add(1)))
		_, err = reply("claim", "k", folded("ADA"))
		require.NoError(t, err)
		synctest.Wait()
		for _, id := range []string{"answer", "vote", "claim"} {
			requireSoundLog(t, lc.proc.Store, id)
		}
	})
}

// measured is a store that adds up the bytes of the interactions that are read.
type measured struct {
	*memory.Store
	bytes int
}

func (s *measured) add(records ...Record) {
	for i := range records {
		body, _ := store.AppendRecord(nil, &records[i])
		s.bytes += len(body)
	}
}

func (s *measured) History(ctx context.Context, id string, q store.HistoryQuery) (Run, []Record, error) {
	run, records, err := s.Store.History(ctx, id, q)
	s.add(records...)
	return run, records, err
}

func (s *measured) Settled(ctx context.Context, id, key string) (Record, error) {
	r, err := s.Store.Settled(ctx, id, key)
	s.add(r)
	return r, err
}

func (s *measured) Voted(ctx context.Context, id, key string) (Record, error) {
	r, err := s.Store.Voted(ctx, id, key)
	s.add(r)
	return r, err
}

func (s *measured) Interaction(ctx context.Context, id string, number int) (Record, error) {
	r, err := s.Store.Interaction(ctx, id, number)
	s.add(r)
	return r, err
}

func (s *measured) Confirm(_ context.Context, read func(store.Reader) error) error { return read(s) }

// I5 C5 C7 J6: however long a run's history, each call reads a limited part of it: a page, or the
// required interactions. Page by page, each question appears once, in order.
func TestI5ReadsOfALongHistoryAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 120
		s := &measured{Store: newStore(t)}
		prompt := strings.Repeat("x", 30<<10)
		lc, stop := serve(t, Config{Store: s, Engine: sinking(func(_ context.Context, in engine.Turn, _ engine.Sink) (
			engine.Outcome, error) {
			o := asking("")
			o.Questions[0] = engine.Question{Kind: Approval, Prompt: prompt, Subject: &interaction.Subject{Tool: "pay"}}
			return o, nil
		})})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Ask: &AskPolicy{Need: 2}})
		require.NoError(t, err)
		vote := func(question int, who, key string) error {
			return second(lc.Reply(t.Context(), "r", Reply{ID: question, Decision: Approve, Actor: Actor{ID: who},
				Key: key}))
		}
		pass(time.Second)
		for i := 1; i <= rounds; i++ {
			require.NoError(t, vote(i, "ada", fmt.Sprint("ada ", i)))
			require.NoError(t, vote(i, "bob", fmt.Sprint("bob ", i)))
			pass(time.Second)
		}
		asked := rounds + 1 // the last one is open
		few := 3*store.MinPage/2 + len(prompt)
		for name, call := range map[string]func() error{
			"History": func() error { return second(lc.HistoryPage(t.Context(), "r", HistoryQuery{})) },
			"newest of the history": func() error {
				return second(lc.HistoryPage(t.Context(), "r", HistoryQuery{Newest: true}))
			},
			"Question":              func() error { return second(lc.Question(t.Context(), "r", 7)) },
			"QuestionWithKey":       func() error { return second(lc.QuestionWithKey(t.Context(), "r", "bob 7")) },
			"QuestionWithKey, vote": func() error { return second(lc.QuestionWithKey(t.Context(), "r", "ada 7")) },
			"QuestionWithKey, none": func() error {
				_, err := lc.QuestionWithKey(t.Context(), "r", "none")
				require.ErrorIs(t, err, ErrNotFound)
				return nil
			},
			"replayed reply": func() error { return vote(7, "bob", "bob 7") },
			"replayed vote":  func() error { return vote(7, "ada", "ada 7") },
			"vote's key for another question": func() error {
				require.ErrorIs(t, vote(asked, "eve", "ada 7"), ErrKeyConflict)
				return nil
			},
			"late reply": func() error { require.ErrorIs(t, vote(7, "eve", "eve 7"), ErrSettled); return nil },
			"vote":       func() error { return vote(asked, "carl", "carl") },
			"fork": func() error {
				_, err := lc.Fork(t.Context(), "r", At{Question: 3})
				require.ErrorIs(t, err, ErrCannotFork, "the engine cannot")
				return nil
			},
		} {
			s.bytes = 0
			require.NoError(t, call(), name)
			require.LessOrEqual(t, s.bytes, few, name)
		}
		pages := func(q HistoryQuery) (numbers []int) {
			for {
				page, err := lc.HistoryPage(t.Context(), "r", q)
				require.NoError(t, err)
				for _, r := range page.Records {
					require.Equal(t, r.Question.ID == asked, r.Resolution == "")
					numbers = append(numbers, r.Question.ID)
				}
				if q.After = page.Next; q.After == "" {
					return numbers
				}
			}
		}
		all := make([]int, asked)
		for i := range all {
			all[i] = i + 1
		}
		require.Equal(t, all, pages(HistoryQuery{}))
		require.Equal(t, all, pages(HistoryQuery{Limit: 1}))
		whole, err := lc.History(t.Context(), "r")
		require.NoError(t, err)
		for i := range whole {
			require.Equal(t, all[i], whole[i].Question.ID)
		}
		require.Len(t, whole, asked)
		calls := 0
		guarded, err := NewClient(ClientConfig{Store: s, Authorize: func(context.Context, Access) error {
			if calls++; calls > 1 {
				return ErrNotAllowed
			}
			return nil
		}})
		require.NoError(t, err)
		_, err = guarded.History(t.Context(), "r")
		require.ErrorIs(t, err, ErrNotAllowed, "each page is checked: the right may end, or the id be used again")
		slices.Reverse(all)
		require.Equal(t, all, pages(HistoryQuery{Newest: true}))
		require.Equal(t, all, pages(HistoryQuery{Newest: true, Limit: 3}))
		stop()
	})
}
