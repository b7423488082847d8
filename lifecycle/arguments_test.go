package lifecycle

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
)

// withoutArguments are the calls that a caller can give nothing wrong, or that return no error.
var withoutArguments = []string{"Close", "Stuck", "On", "Feeds", "MaxRemember", "Now", "WithPrincipals"}

// wrongCall is one call with one wrong argument.
type wrongCall struct {
	method   string
	argument string // that the error names
	value    string // as the error shows it
	call     func(ctx context.Context, l *Lifecycle) error
}

// wrongCalls has a row for each call and each argument of it that can be wrong.
func wrongCalls() []wrongCall {
	var calls []wrongCall
	add := func(method, argument, value string, call func(context.Context, *Lifecycle) error) {
		calls = append(calls, wrongCall{method, argument, value, call})
	}
	spec := Spec{Prompt: "x"}
	reply := interaction.Reply{ID: 1, Text: "yes"}
	withContext := map[string]func(context.Context, *Lifecycle) error{
		"Submit": func(ctx context.Context, l *Lifecycle) error { return second(l.Submit(ctx, spec)) },
		"GetOrSubmit": func(ctx context.Context, l *Lifecycle) error {
			_, _, err := l.GetOrSubmit(ctx, spec)
			return err
		},
		"Runs":       func(ctx context.Context, l *Lifecycle) error { return second(l.Runs(ctx, Query{})) },
		"CountInbox": func(ctx context.Context, l *Lifecycle) error { return second(l.CountInbox(ctx, InboxQuery{})) },
		"Inbox":      func(ctx context.Context, l *Lifecycle) error { return second(l.Inbox(ctx, InboxQuery{})) },
		"WatchInbox": func(ctx context.Context, l *Lifecycle) error { return second(l.WatchInbox(ctx, InboxQuery{})) },
		"Prune":      func(ctx context.Context, l *Lifecycle) error { return second(l.Prune(ctx, noon)) },
		"Nodes":      func(ctx context.Context, l *Lifecycle) error { return second(l.Nodes(ctx)) },
		"Stats":      func(ctx context.Context, l *Lifecycle) error { return second(l.Stats(ctx)) },
		"Recover":    func(ctx context.Context, l *Lifecycle) error { return second(l.Recover(ctx)) },
		"Serve":      func(ctx context.Context, l *Lifecycle) error { return l.Serve(ctx) },
		"Ready":      func(ctx context.Context, l *Lifecycle) error { return l.Ready(ctx) },
		"SearchRuns": func(ctx context.Context, l *Lifecycle) error {
			return second(l.SearchRuns(ctx, SearchQuery{}))
		},
		"Answers": func(ctx context.Context, l *Lifecycle) error {
			return second(l.Answers(ctx, AnswersQuery{By: interaction.Actor{ID: "ada"}}))
		},
	}
	withID := map[string]func(context.Context, *Lifecycle, string) error{
		"Cancel": func(ctx context.Context, l *Lifecycle, id string) error { return l.Cancel(ctx, id, "") },
		"Resume": func(ctx context.Context, l *Lifecycle, id string) error {
			return l.Resume(ctx, id, Resume{Choice: ChoiceRepeat})
		},
		"Fork": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Fork(ctx, id, At{})) },
		"GetOrFork": func(ctx context.Context, l *Lifecycle, id string) error {
			_, _, err := l.GetOrFork(ctx, id, At{})
			return err
		},
		"Inherited": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Inherited(ctx, id)) },
		"Note": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.Note(ctx, id, 1, Note{Text: "x"}))
		},
		"TurnLogs": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.TurnLogs(ctx, id)) },
		"OpenTurnLog": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.OpenTurnLog(ctx, id, 1, "out"))
		},
		"Get":      func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Get(ctx, id)) },
		"Pending":  func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Pending(ctx, id)) },
		"History":  func(ctx context.Context, l *Lifecycle, id string) error { return second(l.History(ctx, id)) },
		"Question": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Question(ctx, id, 1)) },
		"Proposal": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Proposal(ctx, id, 1)) },
		"ReadFile": func(ctx context.Context, l *Lifecycle, id string) error {
			_, _, err := l.ReadFile(ctx, id, 1, 0)
			return err
		},
		"Wait":   func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Wait(ctx, id)) },
		"Usage":  func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Usage(ctx, id)) },
		"Folder": func(ctx context.Context, l *Lifecycle, id string) error { return second(l.Folder(ctx, id)) },
		"HistoryPage": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.HistoryPage(ctx, id, HistoryQuery{}))
		},
		"InheritedPage": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.InheritedPage(ctx, id, HistoryQuery{}))
		},
		"QuestionWithKey": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.QuestionWithKey(ctx, id, "k"))
		},
		"Reply": func(ctx context.Context, l *Lifecycle, id string) error {
			return second(l.Reply(ctx, id, reply))
		},
		"Events": func(ctx context.Context, l *Lifecycle, id string) error {
			for _, err := range l.Events(ctx, id, 0) {
				return err
			}
			return nil
		},
		"EventsAfter": func(ctx context.Context, l *Lifecycle, id string) error {
			for _, err := range l.EventsAfter(ctx, id, Cursor{}) {
				return err
			}
			return nil
		},
		"CheckCursor": func(ctx context.Context, l *Lifecycle, id string) error {
			return l.CheckCursor(ctx, id, Cursor{})
		},
	}
	for method, call := range withID {
		withContext[method] = func(ctx context.Context, l *Lifecycle) error { return call(ctx, l, "r") }
		for _, id := range []string{"", "no run", "../r", "r\x00", "\xff", strings.Repeat("r", MaxRunID+1)} {
			add(method, "id", quote(id), func(ctx context.Context, l *Lifecycle) error { return call(ctx, l, id) })
		}
	}
	for method, call := range withContext {
		add(method, "ctx", "nil", func(_ context.Context, l *Lifecycle) error {
			var none context.Context
			return call(none, l)
		})
		if method != "Serve" && method != "Folder" {
			add(method, "view", "nil", func(ctx context.Context, l *Lifecycle) error {
				return call(ctx, &Lifecycle{Client: l.On(nil)})
			})
		}
	}
	for value, q := range map[string]AnswersQuery{"-1": {By: interaction.Actor{ID: "ada"}, Limit: -1}} {
		add("Answers", "query.Limit", value, func(ctx context.Context, l *Lifecycle) error {
			return second(l.Answers(ctx, q))
		})
	}
	add("Answers", "query.By.ID", `""`, func(ctx context.Context, l *Lifecycle) error {
		return second(l.Answers(ctx, AnswersQuery{}))
	})
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	for argument, q := range map[string]SearchQuery{"query.From": {From: late}, "query.Until": {Until: late}} {
		add("SearchRuns", argument, "in the year 10000", func(ctx context.Context, l *Lifecycle) error {
			return second(l.SearchRuns(ctx, q))
		})
	}
	many := make(map[string]string)
	for i := range MaxLabels + 1 {
		many[fmt.Sprint(i)] = ""
	}
	for argument, queries := range map[string]map[string]Query{
		"query.Limit":  {"-1": {Limit: -1}, "1001": {Limit: 1001}},
		"query.After":  {`"2"`: {After: "2"}, `"not one"`: {After: "not one"}},
		"query.States": {`"sleeping"`: {States: []State{StateRunning, "sleeping"}}},
		"query.Pool":   {`"a b"`: {Pool: "a b"}},
		"query.Key": {`"\xff"`: {Key: "\xff"}, quote(strings.Repeat("k", MaxKey+1)): {Key: strings.Repeat("k",
			MaxKey+1)}},
		"query.ForkedFrom": {`"no run"`: {ForkedFrom: "no run"}, `"\xff"`: {ForkedFrom: "\xff"}},
		"query.Labels": {`""`: {Labels: map[string]string{"": "x"}},
			`"team"`:     {Labels: map[string]string{"team": "\xff"}},
			"33 entries": {Labels: many}},
	} {
		for value, q := range queries {
			add("Runs", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.Runs(ctx, q))
			})
			add("SearchRuns", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.SearchRuns(ctx, SearchQuery{Query: q}))
			})
			if q.States == nil && q.ForkedFrom == "" {
				inbox := InboxQuery{Limit: q.Limit, After: q.After, Pool: q.Pool, Key: q.Key, Labels: q.Labels}
				add("Inbox", argument, value, func(ctx context.Context, l *Lifecycle) error {
					return second(l.Inbox(ctx, inbox))
				})
			}
		}
	}
	for argument, queries := range map[string]map[string]InboxQuery{
		"query.For":        {"256 bytes": {For: Actor{ID: strings.Repeat("a", 256)}}},
		"query.For.Groups": {"one of 0 bytes": {For: Actor{Groups: []string{""}}}},
		"query.Kinds":      {"1001 entries": {Kinds: make([]Kind, 1001)}, `"bogus"`: {Kinds: []Kind{"bogus"}}},
		"query.DueBefore":  {"in the year 10000": {DueBefore: late}},
		"query.After": {`"bm9uc2Vuc2U.1.r"`: {After: "bm9uc2Vuc2U.1.r"}, `".0.r"`: {After: ".0.r"}, `".1"`: {After: ".1"},
			`".x.r"`: {After: ".x.r"}, `".1.a b"`: {After: ".1.a b"}},
	} {
		for value, q := range queries {
			add("Inbox", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.Inbox(ctx, q))
			})
			add("CountInbox", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.CountInbox(ctx, q))
			})
		}
	}
	add("CreateFeed", "name", `"a b"`, func(ctx context.Context, l *Lifecycle) error {
		return second(l.CreateFeed(ctx, "a b", time.Hour))
	})
	add("DeleteFeed", "name", `""`, func(ctx context.Context, l *Lifecycle) error { return l.DeleteFeed(ctx, "") })
	add("Feed", "name", `""`, func(ctx context.Context, l *Lifecycle) error {
		for _, err := range l.Feed(ctx, "", FeedFilter{}) {
			return err
		}
		return nil
	})
	for argument, actors := range map[string]map[string]Actor{
		"actor":        {"256 bytes": {ID: strings.Repeat("a", 256)}, "1 bytes": {ID: "\xff"}},
		"actor.Via":    {"64 bytes": {Via: strings.Repeat("v", 64)}},
		"actor.Groups": {"257 groups": {Groups: make([]string, 257)}, "one of 0 bytes": {Groups: []string{""}}},
	} {
		for value, actor := range actors {
			add("As", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.As(actor).Get(ctx, "r"))
			})
		}
	}
	for value, at := range map[string]time.Time{
		"in the year -1": time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), "in the year 10000": time.Date(10000, 1, 1, 0, 0,
			0, 0, time.UTC),
	} {
		add("Prune", "before", value, func(ctx context.Context, l *Lifecycle) error { return second(l.Prune(ctx, at)) })
	}
	for argument, replies := range map[string]map[string]interaction.Reply{
		"reply.ID":   {"0": {Text: "yes"}},
		"reply.Text": {"blank": {ID: 1, Text: " "}, "not text": {ID: 1, Text: "\xff"}},
		"reply.Key": {"256 bytes": {ID: 1, Text: "yes", Key: strings.Repeat("k", 256)},
			"1 bytes": {ID: 1, Text: "yes", Key: "\x00"}},
		"reply.Actor": {"1 bytes": {ID: 1, Text: "yes", Actor: Actor{ID: "\xff"}}},
	} {
		for value, r := range replies {
			add("Reply", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.Reply(ctx, "r", r))
			})
		}
	}
	add("Extend", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return l.Extend(ctx, "r", 0, time.Now())
	})
	tomorrow := time.Now().Add(24 * time.Hour)
	add("Question", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return second(l.Question(ctx, "r", 0))
	})
	add("Proposal", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return second(l.Proposal(ctx, "r", 0))
	})
	add("Claim", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return l.Claim(ctx, "r", 0, tomorrow)
	})
	add("Claim", "actor", `""`, func(ctx context.Context, l *Lifecycle) error {
		return l.Claim(ctx, "r", 1, tomorrow)
	})
	add("Forget", "question", "0", func(ctx context.Context, l *Lifecycle) error { return l.Forget(ctx, "r", 0) })
	add("Release", "question", "-1", func(ctx context.Context, l *Lifecycle) error { return l.Release(ctx, "r", -1) })
	add("Reassign", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return l.Reassign(ctx, "r", 0, nil, Audience{Everybody: true})
	})
	add("Reassign", "to", "for nobody", func(ctx context.Context, l *Lifecycle) error {
		return l.Reassign(ctx, "r", 1, nil, Audience{Except: []string{"ada"}})
	})
	add("Reassign", "to", "for nobody", func(ctx context.Context, l *Lifecycle) error {
		return l.Reassign(ctx, "r", 1, nil, Audience{Users: []string{"ada"}, Except: []string{"ada"}})
	})
	add("Reassign", "to", "an audience with a name of 0 bytes; 1 to 255 bytes of UTF-8 without NUL are allowed",
		func(ctx context.Context, l *Lifecycle) error {
			return l.Reassign(ctx, "r", 1, nil, Audience{Users: []string{""}})
		})
	for argument, notes := range map[string]map[string]Note{
		"note.Text": {"blank": {Text: " "}, "not text": {Text: "\xff"}},
		"note.Key":  {"1 bytes": {Text: "a", Key: "\xff"}},
	} {
		for value, note := range notes {
			add("Note", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.Note(ctx, "r", 1, note))
			})
		}
	}
	add("Note", "question", "0", func(ctx context.Context, l *Lifecycle) error {
		return second(l.Note(ctx, "r", 0, Note{Text: "x"}))
	})
	add("OpenTurnLog", "stream", `"attempt-0.out"`, func(ctx context.Context, l *Lifecycle) error {
		return second(l.OpenTurnLog(ctx, "r", 0, "out"))
	})
	add("SetPool", "pool", "wrong: "+Pool{}.Validate().Error(), func(ctx context.Context, l *Lifecycle) error {
		return l.SetPool(ctx, Pool{}, Pool{})
	})
	add("Extend", "until", "0001-01-01 00:00:00 +0000 UTC", func(ctx context.Context, l *Lifecycle) error {
		return l.Extend(ctx, "r", 1, time.Time{})
	})
	for argument, points := range map[string]map[string]At{
		"at.Question":    {"-1": {Question: -1}},
		"at.ID":          {`"no run"`: {ID: "no run"}, `"child-x"`: {ID: "child-x"}},
		"at.Answer.Text": {"blank": {Answer: Reply{Text: " "}}, "not text": {Answer: Reply{Text: "\xff"}}},
		"at.Answer.ID":   {"2": {Question: 1, Answer: Reply{ID: 2, Text: "yes"}}},
		"at.Answer.Key":  {`"k"`: {Answer: Reply{Key: "k", Text: "yes"}}},
		"at.Answer.Actor": {`"ada"`: {Answer: Reply{Text: "yes", Actor: Actor{ID: "ada"}}, Actor: Actor{ID: "bob"}},
			"1 bytes": {Answer: Reply{Text: "yes"}, Actor: Actor{ID: "\xff"}}},
		"at.Actor": {"1 bytes": {Actor: Actor{ID: "\xff"}}},
	} {
		for value, at := range points {
			add("Fork", argument, value, func(ctx context.Context, l *Lifecycle) error {
				return second(l.Fork(ctx, "r", at))
			})
		}
	}
	return calls
}

func second[T any](_ T, err error) error { return err }

// A caller with a wrong argument gets the argument, its value and the range, for every call and
// store. The store is not asked.
func TestEachWrongArgumentIsNamed(t *testing.T) {
	s := &counted{Store: newStore(t)}
	lc, err := New(Config{Store: hintless{s}, Engine: agent{}, Dir: t.TempDir()})
	require.NoError(t, err)
	defer lc.Close()
	tested := make(map[string]bool)
	for _, c := range wrongCalls() {
		tested[c.method] = true
		t.Run(fmt.Sprintf("%s(%s: %.20s)", c.method, c.argument, c.value), func(t *testing.T) {
			err := c.call(t.Context(), lc)
			require.ErrorIs(t, err, ErrInvalidArgument)
			var wrong *ArgumentError
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, []string{c.argument, c.value}, []string{wrong.Argument, wrong.Value})
			require.NotEmpty(t, wrong.Want)
			require.Equal(t, "lifecycle: "+c.argument+" is "+c.value+", want "+wrong.Want, err.Error())
			require.NotErrorIs(t, err, store.ErrInvalid)
			if c.argument == "id" {
				require.ErrorIs(t, err, ErrNotFound, "no run has it")
			}
			if strings.HasPrefix(c.argument, "reply.") {
				require.ErrorIs(t, err, ErrInvalidReply)
				require.ErrorAs(t, err, new(*interaction.FieldError))
			}
		})
	}
	require.Zero(t, s.looks.Load())
	calls := reflect.TypeFor[*Lifecycle]()
	for i := range calls.NumMethod() {
		if name := calls.Method(i).Name; !slices.Contains(withoutArguments, name) {
			require.True(t, tested[name], "%s has no row", name)
		}
	}
}

// Correct arguments are accepted: the largest values, and values that do not filter.
func TestRightArgumentsAreAccepted(t *testing.T) {
	lc, err := New(Config{Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	for _, q := range []Query{
		{}, {Limit: 1}, {Limit: store.MaxBatch}, {States: fsm.States()},
		{Pool: "unknown"}, {Key: strings.Repeat("k", MaxKey)}, {After: store.Cursor{At: noon, ID: "r"}.String()},
		{Labels: map[string]string{strings.Repeat("k", MaxLabelKey): strings.Repeat("v", MaxLabelValue)}},
		{Labels: numbered(MaxLabels)},
	} {
		_, err := lc.Runs(t.Context(), q)
		require.NoError(t, err)
	}
	for _, q := range []InboxQuery{
		{}, {Limit: 1}, {Limit: store.MaxBatch}, {For: Actor{ID: strings.Repeat("a", 255), Groups: []string{"g"}}},
		{Kinds: []Kind{Confirm}}, {Kinds: slices.Repeat([]Kind{Confirm}, store.MaxBatch)},
		{After: store.Cursor{At: noon, ID: "r"}.String()}, {After: ".1.r.2"},
		{DueBefore: noon},
	} {
		_, err := lc.Inbox(t.Context(), q)
		require.NoError(t, err)
	}
	for _, at := range []time.Time{{}, noon} {
		_, err := lc.Prune(t.Context(), at)
		require.NoError(t, err)
	}
	_, err = lc.Get(t.Context(), strings.Repeat("r", MaxRunID))
	require.ErrorIs(t, err, ErrNotFound)
	require.NotErrorIs(t, err, ErrInvalidArgument)
}

// A wrong specification and a wrong configuration are wrong arguments too.
func TestEveryWrongInputMatchesOneError(t *testing.T) {
	lc, err := New(Config{Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	_, err = lc.Submit(t.Context(), Spec{})
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, err, ErrInvalidSpec)
	for _, cfg := range []Config{
		{}, {Engine: agent{}, Lease: 1}, {Engine: agent{}, Retry: &Retry{Max: -1}},
		{Engine: agent{}, Pools: []slots.Pool{{}}}, {Engines: map[string]engine.Engine{"a": nil}},
	} {
		_, err := New(cfg)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	_, err = NewClient(ClientConfig{})
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// A submission of an id that is taken: the same spec is known, and returned as it is by now; with
// other Labels or another NotBefore it is another spec, and changes nothing.
func TestASubmissionThatIsRepeated(t *testing.T) {
	lc, err := New(Config{Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	spec := Spec{ID: "r", Prompt: "x", Labels: map[string]string{"team": "a", "env": "test"}, NotBefore: noon}
	first, known, err := lc.GetOrSubmit(t.Context(), spec)
	require.NoError(t, err)
	require.False(t, known)

	spec.Mode, spec.Pool, spec.NotBefore = Interactive, DefaultPool, noon.In(time.FixedZone("east", 3600))
	again, known, err := lc.GetOrSubmit(t.Context(), spec)
	require.NoError(t, err, "defaults and the zone make no difference")
	require.True(t, known)
	require.Equal(t, first, again)

	require.NoError(t, lc.Cancel(t.Context(), "r", "not needed"))
	for name, change := range map[string]func(*Spec){
		"other labels":      func(s *Spec) { s.Labels = map[string]string{"team": "b"} },
		"fewer labels":      func(s *Spec) { s.Labels = nil },
		"another time":      func(s *Spec) { s.NotBefore = noon.Add(time.Second) },
		"no time any more":  func(s *Spec) { s.NotBefore = time.Time{} },
		"another prompt":    func(s *Spec) { s.Prompt = "y" },
		"the same, in fact": func(*Spec) {},
	} {
		other := spec
		change(&other)
		run, known, err := lc.GetOrSubmit(t.Context(), other)
		if name == "the same, in fact" {
			require.NoError(t, err)
			require.True(t, known)
			require.Equal(t, StateCanceled, run.State, "as it is by now")
			continue
		}
		require.ErrorIs(t, err, ErrSpecConflict, name)
		require.False(t, known, name)
	}
	stored, err := lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, spec.Labels, stored.Labels)
	require.True(t, stored.NotBefore.Equal(noon))
}
