package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// K5 J8: the absence of a claim is confirmed by durable data; a current claim is a conflict, and
// the call reads again.
func TestK5ReleaseIsConfirmed(t *testing.T) {
	away := errors.New("connection refused")
	claimed := func(until time.Time) Run {
		claim := &interaction.Claim{Actor: "ada", Until: until}
		return Run{ID: "r", Open: []interaction.Question{{ID: 1, Claim: claim}}}
	}
	for name, c := range map[string]struct {
		store saying
		want  error
	}{
		"no claim":               {saying{run: Run{ID: "r", Open: []interaction.Question{{ID: 1}}}}, nil},
		"a claim":                {saying{run: claimed(noon.Add(1))}, node.ErrReadAgain},
		"a claim that is over":   {saying{run: claimed(noon)}, nil},
		"the question is closed": {saying{run: Run{ID: "r"}}, nil},
		"the run is gone":        {saying{err: store.ErrNotFound}, store.ErrNotFound},
		"the store is away":      {saying{err: away, run: claimed(noon.Add(1))}, away},
	} {
		t.Run(name, func(t *testing.T) {
			c.store.Store = newStore(t)
			err := clientOf(t, c.store).confirmReleased(t.Context(), "r", 1, noon)
			require.Equal(t, c.want, err)
		})
	}
}

// K5: people cannot fill the log of a run with changes of its questions. They can still answer and
// release, and the host can do everything; an answer makes room.
func TestK5ChangesOfAQuestionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Engine: agent{turn: func(_ context.Context, in engine.Turn) (
			engine.Outcome, error) {
			if in.Attempt > 2 {
				return finished(), nil
			}
			return asking("?"), nil
		}}})
		defer stop()
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", Ask: &AskPolicy{
			Wait: &Wait{Then: interaction.ThenFail, End: 3 * time.Hour}}})
		require.NoError(t, err)
		synctest.Wait()
		ada := lc.As(Actor{ID: "ada"})
		asked := in(t, lc.Client, "r", StateWaitingUser).Seq
		until := time.Now().Add(time.Hour)
		flood := func(question int) (changes int) {
			for ; changes <= 2*MaxChanges; changes += 2 {
				if err := ada.Claim(t.Context(), "r", question, until); err != nil {
					require.ErrorIs(t, err, ErrTooMany)
					return changes
				}
				require.NoError(t, ada.Release(t.Context(), "r", question))
			}
			return changes
		}
		require.Equal(t, MaxChanges, flood(1))
		require.Equal(t, asked+MaxChanges, in(t, lc.Client, "r", StateWaitingUser).Seq)
		q, err := lc.Pending(t.Context(), "r")
		require.NoError(t, err)
		end := q.EndsAt.Add(time.Hour)
		require.ErrorIs(t, ada.Reassign(t.Context(), "r", 1, nil, Audience{Users: []string{"bob"}}), ErrTooMany)
		require.ErrorIs(t, ada.Extend(t.Context(), "r", 1, end), ErrTooMany)
		require.ErrorIs(t, lc.As(Actor{ID: "bob"}).Claim(t.Context(), "r", 1, until), ErrTooMany)
		require.NoError(t, lc.Extend(t.Context(), "r", 1, end), "the host may")

		_, err = ada.Reply(t.Context(), "r", Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, ada.Claim(t.Context(), "r", 2, until))
		require.Equal(t, MaxChanges, flood(2), "the last release comes after the bound")
		require.NoError(t, ada.Release(t.Context(), "r", 2))
	})
}

// K5: a vote is looked for among the open questions first. If these have all votes of the run, its
// history, which may be long, is not read.
func TestK5VotesOfOpenQuestionsNeedNoHistory(t *testing.T) {
	question := func(id int, key string) interaction.Question {
		return interaction.Question{ID: id, Votes: []interaction.Vote{{Actor: "ada", Key: key}}}
	}
	first, second := question(1, "a"), question(2, "b")
	run := &Run{ID: "r", Votes: 2, Open: []interaction.Question{first, second}}
	for key, want := range map[string]int{"a": 1, "b": 2, "c": 0} {
		record, vote, err := voteWithKey(t.Context(), nil, run, key)
		require.NoError(t, err)
		require.Equal(t, want > 0, vote != nil, key)
		if want > 0 {
			require.Equal(t, []any{want, key}, []any{record.Question.ID, vote.Key})
		}
	}
}

// noting serves a run with two questions, 1 for ada and 2 for all people.
func noting(t *testing.T, cfg Config) *Lifecycle {
	t.Helper()
	cfg.Engine = agent{turn: func(context.Context, engine.Turn) (engine.Outcome, error) {
		return engine.AskAll(engine.Question{Prompt: "Which region?", To: &Audience{Users: []string{"ada"}}},
			engine.Question{Prompt: "When?"}).WithState([]byte("s")), nil
	}}
	lc, stop := serve(t, cfg)
	t.Cleanup(stop)
	_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", MaxQuestions: 2})
	require.NoError(t, err)
	synctest.Wait()
	in(t, lc.Client, "r", StateWaitingUser)
	return lc
}

// N7: a note has 1 to 4,096 bytes of text, and a question 64 notes. A refused note changes nothing.
func TestN7NotesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc := noting(t, Config{})
		ada := lc.As(Actor{ID: "ada", Via: "web"})
		for _, wrong := range []Note{{}, {Text: " \n"}, {Text: "a\x00"}, {Text: "\xff"},
			{Text: strings.Repeat("x", interaction.MaxNote+1)}, {Text: "x", Key: strings.Repeat("k", 256)}} {
			_, err := ada.Note(t.Context(), "r", 1, wrong)
			var argument *ArgumentError
			require.ErrorAs(t, err, &argument)
			require.Contains(t, []string{"note.Text", "note.Key"}, argument.Argument)
		}
		longest := strings.Repeat("x", interaction.MaxNote)
		for i := range interaction.MaxNotes {
			receipt, err := ada.Note(t.Context(), "r", 1, Note{Text: longest})
			require.NoError(t, err)
			require.Equal(t, NoteReceipt{Number: i + 1, NotedAt: time.Now().UTC()}, receipt)
		}
		full := in(t, lc.Client, "r", StateWaitingUser)
		require.Equal(t, interaction.MaxNotesTogether, full.Open[0].Notes.Bytes)
		_, err := ada.Note(t.Context(), "r", 1, Note{Text: "x"})
		require.ErrorIs(t, err, ErrTooMany)
		require.ErrorContains(t, err, "notes: question 1 has 64")
		_, err = ada.Note(t.Context(), "r", 2, Note{Text: "x"})
		require.ErrorIs(t, err, ErrTooMany)
		require.ErrorContains(t, err, "have 262145 bytes, at most 262144 are allowed")
		require.Equal(t, full, in(t, lc.Client, "r", StateWaitingUser))

		_, err = ada.Reply(t.Context(), "r", Reply{ID: 1, Text: "south"})
		require.NoError(t, err)
		_, err = ada.Note(t.Context(), "r", 2, Note{Text: "x"})
		require.NoError(t, err, "a settled question's notes make room")
		history, err := lc.History(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, full.Open[0].Notes, history[0].Question.Notes)
		require.Equal(t, full.Open[0].Digest(), history[0].Question.Digest())
		require.Equal(t, Note{Text: longest, Actor: "ada", Via: "web", NotedAt: full.UpdatedAt},
			history[0].Question.Notes.List[63])
	})
}

// N7: the audience and the host write notes. With an Authorize, so does anyone to whom it allows
// ActionNote, and no one else.
func TestN7WhoMayWriteNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc := noting(t, Config{})
		for who, question := range map[string]int{"": 1, "ada": 1, "eve": 2} {
			_, err := lc.As(Actor{ID: who}).Note(t.Context(), "r", question, Note{Text: "x"})
			require.NoError(t, err, who)
		}
		_, err := lc.As(Actor{ID: "eve"}).Note(t.Context(), "r", 1, Note{Text: "x"})
		require.ErrorIs(t, err, ErrNotAsked)
		_, err = lc.As(Actor{ID: "eve", For: "ada"}).Note(t.Context(), "r", 1, Note{Text: "x"})
		require.ErrorIs(t, err, ErrNotDeputy)

		var asked []Access
		ruled, err := NewClient(ClientConfig{Store: lc.proc.Store, Authorize: func(_ context.Context, a Access) error {
			asked = append(asked, a)
			if a.Actor.ID == "eve" {
				return errors.New("not eve")
			}
			return nil
		}})
		require.NoError(t, err)
		for _, who := range []string{"ada", "bob"} {
			_, err = ruled.As(Actor{ID: who}).Note(t.Context(), "r", 1, Note{Text: "x"})
			require.NoError(t, err, who)
		}
		_, err = ruled.As(Actor{ID: "eve"}).Note(t.Context(), "r", 2, Note{Text: "x"})
		require.ErrorIs(t, err, ErrNotAllowed)
		for i := range asked {
			require.Equal(t, ActionNote, asked[i].Action)
		}
		require.Equal(t, 2, asked[2].Question.ID)
		run := in(t, lc.Client, "r", StateWaitingUser)
		require.Equal(t, []int{4, 1}, []int{len(run.Open[0].Notes.All()), len(run.Open[1].Notes.All())})
	})
}

// N7: a note leaves an approval hidden while the host's policy decides it.
func TestN7ANoteLeavesAQuestionHidden(t *testing.T) {
	run := Run{ID: "r", Version: 4, Engine: "agent", State: StateWaitingUser, UpdatedAt: noon,
		Open: []interaction.Question{{ID: 1, Kind: interaction.Approval, AskedAt: noon, HiddenFor: 5,
			Subject: &interaction.Subject{Tool: "pay"}}}}
	cm, err := decide.Note(&run, &run.Open[0], Actor{ID: "ada"}, "x", "", noon)
	require.NoError(t, err)
	require.True(t, cm.Run.Open[0].Hidden(noon))
	require.Nil(t, run.Open[0].Notes, "the previous record stays as it was")
}

// N7 J8: a repeated note is confirmed by durable data; if the question has changed, the call reads
// again.
func TestN7ARepeatedNoteIsConfirmed(t *testing.T) {
	away := errors.New("connection refused")
	noted := interaction.Question{ID: 1, Notes: (*Notes)(nil).With(Note{Text: "x", Key: "k"})}
	for name, c := range map[string]struct {
		store saying
		want  error
	}{
		"the note":               {saying{run: Run{ID: "r", Open: []interaction.Question{noted}}}, nil},
		"no note":                {saying{run: Run{ID: "r", Open: []interaction.Question{{ID: 1}}}}, node.ErrReadAgain},
		"the question is closed": {saying{run: Run{ID: "r"}}, node.ErrReadAgain},
		"the store is away":      {saying{err: away}, away},
	} {
		t.Run(name, func(t *testing.T) {
			c.store.Store = newStore(t)
			require.Equal(t, c.want, clientOf(t, c.store).confirmNotes(t.Context(), "r", &noted))
		})
	}
}
