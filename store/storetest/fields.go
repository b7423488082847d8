package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

var fieldCases = []promised{
	{
		"fields/of a record are read as stored",
		"Every field of a record is read with the stored value: times to the microsecond and in UTC, texts and " +
			"bytes exactly, JSON with its meaning.",
		func(w *world) {
			var seen []store.Run
			keep := func(c store.Commit) store.Run {
				w.Helper()
				w.commit(c)
				got := w.load(c.Run.ID)
				require.Equal(w, text(w, c.Run), text(w, got))
				seen = append(seen, got)
				return got
			}
			keep(Created("Run-1.a_B", w.tick(), submitted))
			until := w.now.Add(time.Second)
			keep(using(putOff(w.start("n"), w.tick(), until), 1))
			w.now = until
			keep(unblocked(keep(Held(w.start("n"), w.tick(), w.now.Add(time.Hour))), w.tick()))
			r := w.start("n")
			r = keep(keptOnly(r, w.tick(), kept(1)))
			parked := Asked(r, w.tick(), true, w.now.Add(time.Hour))
			parking(&parked.Run)
			reply := Answered(keep(parked), w.tick(), "k")
			answer := &reply.Run.Answers[0]
			answer.Selection = &interaction.Selection{Label: "No <&>", Value: "n", Means: interaction.MeansNo}
			answer.Auto = &interaction.AutoDecision{Source: "s", InteractionID: 1, Reason: "r",
				Policy: interaction.Abort, Instruction: "i"}
			keep(reply)
			several := keep(AskedTogether(w.start("n"), w.tick(), 3, interaction.Rule{Answers: 2, StopOnReject: true}))
			several = keep(Recorded(several, w.tick(), several.Open[0].ID, ""))
			keep(Completed(several, w.tick(), several.Open[0].ID, ""))
			end := ended(w.start("n"), w.tick(), fsm.StateFailed)
			ending(&end.Run)
			keep(end)
			requireAllSet(w, seen...)
		},
	},
	{
		"fields/of a settled interaction are read as stored",
		"Every field of a settled interaction is read with the stored value (C7).",
		func(w *world) {
			parked := Asked(w.running("a"), w.tick(), false, time.Time{})
			parking(&parked.Run)
			c := Answered(w.commit(parked), w.tick(), "the key")
			c.Settled[0].AutoDecideReason = "user_no_reply"
			c.Settled[0].Session = &interaction.SessionHandle{Engine: "agent", Version: "2", Data: []byte{0, 255}}
			c.Settled[0].Journal = 3
			c.Settled[0].Decision, c.Settled[0].Value = interaction.Edit, json.RawMessage(`{"amount":1.0, "to":"bob"}`)
			c.Settled[0].Seen, c.Settled[0].Via = c.Settled[0].Question.Digest(), "mail"
			c.Settled[0].Question.Claim = &interaction.Claim{Actor: "ada <&>", Via: "web", For: "ann",
				Until: w.now.Add(time.Hour)}
			w.commit(c)
			got, err := w.store.Settled(w.ctx, "a", "the key")
			require.NoError(w, err)
			want, err := json.Marshal(c.Settled[0])
			require.NoError(w, err)
			have, err := json.Marshal(got)
			require.NoError(w, err)
			require.Equal(w, string(want), string(have))
			requireAllSet(w, got)
			requireAllSet(w, got.Question)
		},
	},
	{
		"fields/an output is read byte for byte",
		"An output is JSON as an engine wrote it: every call that reads the run returns it with its blanks, " +
			"escapes, numbers, order of members, duplicate members and invalid UTF-8 (B5).",
		func(w *world) {
			for i, output := range []string{
				`{}`, `null`, `""`, `[]`, `0`, `true`, `{"a":1}`, "{\n  \"b\" : [ 1,\t2 ],\r\n\"a\":{ } }",
				`"<a href='x'>&</a>"`, `"\u003c\u00e9\/\ud83d\ude00"`, `"\ud83d"`,
				`"é😀"`, "\"\u2028\u2029\"", "\"a\xff\xed\xa0\x80\"", `"\u0000"`, `{"z":1,"a":2,"z":3}`,
				`[1.0,1e2,-0,12345678901234567890.10,1E400]`, `{"":{"":[[]]}}`,
				`{"a":` + strings.Repeat("[", 200) + " " + strings.Repeat("]", 200) + `}`, `"` + strings.Repeat("<",
					100_000) + `"`,
			} {
				id := fmt.Sprintf("r%02d", i)
				c := ended(w.running(id), w.tick(), fsm.StateSucceeded)
				c.Run.Output = json.RawMessage(output)
				w.commit(c)
				for _, s := range []store.Store{w.store, w.also()} {
					r, err := s.Run(w.ctx, id)
					require.NoError(w, err)
					require.Equal(w, output, string(r.Output))
					r, _, err = store.ReadHistory(w.ctx, s, id)
					require.NoError(w, err)
					require.Equal(w, output, string(r.Output))
					page, err := s.Runs(w.ctx, store.Query{Newest: true, Limit: 1})
					require.NoError(w, err)
					require.Equal(w, output, string(page.Runs[0].Output))
				}
			}
		},
	},
	{
		"fields/bytes of specifications and events are kept exactly",
		"A specification may be any bytes, an event's body any bytes without a line break; both are read exactly " +
			"as stored, even large ones.",
		func(w *world) {
			large := make([]byte, 300_000)
			for i := range large {
				large[i] = byte('a' + i%26)
			}
			c := Created("a", w.tick())
			c.Spec = append([]byte{0, 1, '\n', 0xff, '"'}, large...)
			c.Events[0].Body = append([]byte("\t \r é \x00 \xff"), large...)
			c = addEvent(c)
			w.commit(c)
			got := w.snapshot("a")
			require.Equal(w, c.Spec, []byte(got.Spec))
			require.Equal(w, c.Events, got.Events)
		},
	},
}

// submitted, parking and ending set the fields that a run gets in these phases and that life.go
// leaves unset.

func submitted(r *store.Run) {
	r.MaxAttempts, r.MaxAutoDecisions, r.Repeatable, r.MaxRepeats, r.Repeats, r.Losses = 7, 3, true, 5, 2, 1
	r.Reported = 4321
	r.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r.OnInterrupt, r.Hold = store.InterruptAsk, store.HoldOn
	r.Key, r.Priority, r.NotBefore = "tenant ü", -5, r.CreatedAt.Add(-time.Microsecond)
	r.Labels = map[string]string{"team": "blue", "": "empty name", "quote\"": "line\nbreak"}
	r.SessionTimeout = 90*time.Second + time.Nanosecond
	withBudget(9, 1<<40)(r)
	r.Profile = fsm.ProfileStickyProcess
	r.ForkedFrom = &store.ForkPoint{RunID: "another", Question: 3}
	r.Family = &store.Family{Ancestors: []string{"root <&>", "parent"}, Children: 4}
	r.Restricted = true
	r.Title = "Lamps for \"order 7\"\n<ü>"
}

func parking(r *store.Run) {
	r.Session = &interaction.SessionHandle{Engine: "agent", Version: "2.1", Data: []byte{0, 255, '\n'}}
	r.AutoDecisions, r.LastAutoDecisionAt = 2, r.UpdatedAt.Add(-time.Minute)
	r.Recovery, r.RecoveredAt, r.RecoveryReason = store.RecoveredWaiting, r.UpdatedAt, "all is there"
	q := r.FirstOpen()
	q.Options = []interaction.Option{{Label: "Yes", Value: "y"}, {Label: "No <&>", Value: "n\u2028"}}
	q.RequiredFields = []string{"name", "date"}
	q.UIHints = map[string]any{"wide": true, "rows": 3.5, "nested": map[string]any{"list": []any{"a", nil}}}
	q.Context, q.DefaultPolicy = "because", interaction.SafeDefault
	q.Kind, q.AlsoText, q.Only, q.HiddenFor = interaction.Approval, true, true, 5
	q.Options[0].Yes = true
	q.Schema = json.RawMessage(`{ "type":"object" }`)
	q.Subject = &interaction.Subject{Tool: "pay", Arguments: json.RawMessage(`{"amount":1.50, "to":"ada <&>"}`),
		Title: "Pay Ada", Risk: "high", Summary: "1.50 <EUR>", Changes: []interaction.Change{
			{Path: "a <&>", Kind: interaction.ChangeEdit, Before: "old\u2028\n", After: "new <&>\r\n"},
			{Path: "b", Kind: interaction.ChangeDelete, Before: "x"}}}
	q.To = &interaction.Audience{Users: []string{"ada <&>"}, Groups: []string{"f", "g"}, Except: []string{"bob"}}
	q.Files = &interaction.Files{Host: "a", List: []interaction.File{{Name: "plan.png", MediaType: "image/png", Size: 7,
		SHA256: strings.Repeat("0a", 32), Path: "out/plan.png"}}}
	q.Need, q.Rejects, r.Votes = 3, 2, 1
	q.Votes = []interaction.Vote{{Actor: "ada <&>", Via: "mail", Decision: interaction.Reject, Text: "no \u2028",
		VotedAt: r.UpdatedAt, Key: "k <1>", Digest: "d", Seen: "s", For: "ann"}}
	r.Remembered = []interaction.Memory{{ID: 1, Tool: "pay <&>", Risk: "high", Actor: "ada <&>", Via: "web",
		Equal: []interaction.SameValue{{Path: "/to \u2028", Digest: strings.Repeat("0b", 32)}},
		Most:  []interaction.Limit{{Path: "/amount <1>", Limit: "99.50"}},
		To:    &interaction.Audience{Groups: []string{"f"}}, At: r.UpdatedAt, Until: r.UpdatedAt.Add(time.Hour)}}
	q.Notes = q.Notes.With(interaction.Note{Text: "ask \u2028 <Bob>", Actor: "ada <&>", Via: "web", For: "ann",
		NotedAt: r.UpdatedAt, Key: "k <2>"})
	q.Ref = "call \u2028 <1>"
	q.Wait = &interaction.Wait{
		Steps: []interaction.WaitStep{
			{Do: interaction.Remind, After: time.Minute},
			{Do: interaction.Escalate, After: time.Hour, To: &interaction.Audience{Groups: []string{"h"}}, Join: true},
		},
		End: 2 * time.Hour, Then: interaction.ThenDefault,
		Default: &interaction.DefaultReply{Text: "late <&>", Value: json.RawMessage(`{ "a":1.50}`),
			Decision: interaction.Reject},
	}
	q.StartWait()
	q.Fired = 1
	r.Deadline, _ = r.NextDue()
}

func ending(r *store.Run) {
	r.Output = json.RawMessage(`{"a":[1,2.5,"x <&>"],"big":12345678901234567890}`)
	r.FinalText, r.CancelReason = "That is all.\n", "no longer needed"
	r.Warnings = []fsm.Warning{fsm.WarnTurnRepeated, fsm.WarnOrphanReapFailed}
}

// requireAllSet checks that at least one value sets each stored field.
func requireAllSet[T any](w *world, values ...T) {
	w.Helper()
	for i := range reflect.TypeFor[T]().NumField() {
		if tag := reflect.TypeFor[T]().Field(i).Tag; tag.Get("json") == "-" && tag.Get("plain") == "" {
			continue
		}
		set := false
		for _, v := range values {
			set = set || !reflect.ValueOf(v).Field(i).IsZero()
		}
		require.True(w, set, "the suite has no value for %s.%s", reflect.TypeFor[T]().Name(),
			reflect.TypeFor[T]().Field(i).Name)
	}
}
