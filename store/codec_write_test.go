package store_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The stored form is what encoding/json writes. Each field is tested by itself, so that none can
// be forgotten.
func TestEncodeWritesEveryField(t *testing.T) {
	fields := 0
	empty, err := store.AppendRun(nil, &store.Run{})
	require.NoError(t, err)
	eachField(t, func(t *testing.T, path string, r store.Run) {
		fields++
		got, err := store.AppendRun(nil, &r)
		require.NoError(t, err, path)
		require.Equal(t, stored(t, r), string(got), path)
		require.NotEqual(t, string(empty), string(got), path)
	})
	require.Greater(t, fields, 60, "the fields were found")

	none, err := store.AppendRecord(nil, &interaction.Record{})
	require.NoError(t, err)
	eachField(t, func(t *testing.T, path string, r interaction.Record) {
		got, err := store.AppendRecord(nil, &r)
		require.NoError(t, err, path)
		require.Equal(t, exactly(t, store.CloneRecord(r)), string(got), path)
		require.NotEqual(t, string(none), string(got), path)
	})
}

// stored is a run as encoding/json writes it, except for raw JSON, which is unchanged, and for the
// list around a run that the first form cannot express.
func stored(t require.TestingT, r store.Run) string {
	body := exactly(t, r.Clone())
	if names := store.NamedNeeds(&r); len(names) > 0 {
		return `[{"needs":["` + strings.Join(names, `","`) + `"]},` + body + "]"
	}
	if r.Family != nil {
		return "[9," + body + "]"
	}
	if r.Journal != nil || r.Block != nil && r.Block.Kind == store.BlockSleep {
		return "[8," + body + "]"
	}
	if several := func(q interaction.Question) bool {
		return q.Need > 1 || q.Rejects > 1 || q.Claim != nil
	}; r.Votes > 0 ||
		slices.ContainsFunc(r.Open, several) ||
		len(r.Answers) > 0 && len(r.Answers[0].Votes) > 0 {
		return "[7," + body + "]"
	}
	if len(r.Open) > 0 && r.Open[0].Wait != nil ||
		len(r.Answers) > 0 && r.Answers[0].Resolution == interaction.DefaultAnswer {
		return "[6," + body + "]"
	}
	if r.Together != nil {
		return "[5," + body + "]"
	}
	q, a := interaction.Question{}, interaction.Answer{}
	if len(r.Open) > 0 {
		q = r.Open[0]
	}
	if len(r.Answers) > 0 {
		a = r.Answers[0]
	}
	if r.Restricted ||
		len(q.Schema) > 0 || q.AlsoText || q.Subject != nil || q.To != nil || q.Ref != "" ||
		a.Via != "" || a.Ref != "" || len(a.Value) > 0 || a.Decision != "" || a.Digest != "" ||
		len(a.Arguments) > 0 {
		return "[4," + body + "]"
	}
	if r.ForkedFrom != nil {
		return "[3," + body + "]"
	}
	if r.Block != nil || r.Yielded > 0 || r.OnInterrupt != "" || r.Hold != "" || r.Budget != nil {
		return "[2," + body + "]"
	}
	return body
}

// J2, J14: a record that says something new is refused by an older version of this package, which
// would otherwise store it again without that. All others have the form that they always had.
func TestOlderVersionsRefuseWhatTheyDoNotKnow(t *testing.T) {
	r := submitted()
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &store.Run{}))

	until := r.UpdatedAt.Add(time.Minute)
	r.NotBefore, r.Attempt, r.Yielded, r.Repeats = until, 1, 1, 1
	r.Block = &store.Block{Kind: store.BlockRetry, Until: until, Code: fsm.CodeEngineFailed, Reason: "503"}
	body, err = store.Encode(r)
	require.NoError(t, err)
	require.Error(t, json.Unmarshal(body, &store.Run{}), "which is how an older version reads it")
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, r, got)
	for _, damaged := range []string{string(body[:len(body)-1]), "[10," + string(body[3:]), "[2,]",
		"[2," + string(body) + "]"} {
		_, err = store.Decode([]byte(damaged))
		require.ErrorIs(t, err, store.ErrCorrupt, damaged)
	}
}

// J6 J14: an older version refuses the record of a fork, too. It would otherwise execute the fork
// in the session of the original run. A version that knows held runs can read the form of their
// records, so the record of a fork has yet another form.
func TestOlderVersionsRefuseForks(t *testing.T) {
	r := submitted()
	r.ForkedFrom = &store.ForkPoint{RunID: "first", Question: 3}
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.Error(t, json.Unmarshal(body, &store.Run{}), "which is how an older version reads it")
	require.NotEqual(t, "[2,", string(body[:3]), "which is what an older version unwraps")
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, r, got)

	r.ForkedFrom.RunID = r.ID
	require.ErrorIs(t, r.Validate(), store.ErrInvalid, "no run is forked from itself")
	r.ForkedFrom = &store.ForkPoint{}
	require.ErrorIs(t, r.Validate(), store.ErrInvalid)
}

// needing has a record for each named feature, and the names in its stored form.
var needing = map[string]struct {
	names  string
	change func(r *store.Run)
}{
	"two losses": {`"losses"`, func(r *store.Run) { *r = queued(); r.Repeats, r.Losses, r.MaxRepeats = 2, 2, 9 }},
	"a loss before the last repeat": {`"losses"`, func(r *store.Run) {
		*r = queued()
		r.Repeats, r.Losses = store.DefaultMaxRepeats, 1
	}},
	"a fork that loses nodes": {`"losses","withheld"`, func(r *store.Run) {
		r.MaxRepeats, r.Repeats, r.Losses = 1, 1, 1
		r.ForkedFrom = &store.ForkPoint{RunID: "first", AsksAgain: 2}
	}},
	"only options": {`"only"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Only = true
	}},
	"an option that means yes": {`"only"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Options[0].Yes = true
	}},
	"hidden for a policy": {`"policy"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].HiddenFor = 5
	}},
	"a remembered decision": {`"memory"`, func(r *store.Run) {
		*r = queued()
		r.Interactions = 1
		r.Remembered = []interaction.Memory{{ID: 1, Tool: "pay", Actor: "ada", At: r.UpdatedAt,
			Until: r.UpdatedAt.Add(time.Hour)}}
	}},
	"a claim by a deputy": {`"deputies"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Claim = &interaction.Claim{Actor: "bob", For: "ann", Until: r.UpdatedAt.Add(time.Hour)}
	}},
	"a vote by a deputy": {`"deputies"`, func(r *store.Run) {
		*r = parked()
		q := r.FirstOpen()
		q.Kind, q.Subject, q.Need = interaction.Approval, &interaction.Subject{Tool: "pay"}, 2
		q.Votes = []interaction.Vote{{Actor: "bob", For: "ann", Decision: interaction.Approve, VotedAt: r.UpdatedAt}}
		r.Votes = 1
	}},
	"an answer by a deputy": {`"deputies"`, func(r *store.Run) {
		r.Answers = []interaction.Answer{{ID: 1, Resolution: interaction.UserReply, Text: "yes", Actor: "bob",
			For: "ann", AcceptedAt: r.UpdatedAt}}
	}},
	"notes": {`"notes"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Notes = r.Open[0].Notes.With(interaction.Note{Text: "Ask Bob.", Actor: "ada", NotedAt: r.UpdatedAt})
	}},
	"files": {`"files"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Files = &interaction.Files{List: []interaction.File{{Name: "a", MediaType: "text/plain", Path: "a"}}}
	}},
	"a summary": {`"summary"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Kind, r.Open[0].Subject = interaction.Approval, &interaction.Subject{Tool: "pay", Summary: "5 EUR"}
	}},
	"changes": {`"changes"`, func(r *store.Run) {
		*r = parked()
		r.Open[0].Kind, r.Open[0].Subject = interaction.Approval, &interaction.Subject{Tool: "write",
			Changes: []interaction.Change{{Path: "a", Kind: interaction.ChangeCreate, After: "b"}}}
	}},
	"asks again": {`"withheld"`, func(r *store.Run) {
		r.ForkedFrom = &store.ForkPoint{RunID: "first", AsksAgain: 2}
	}},
	"withholds": {`"withheld"`, func(r *store.Run) {
		r.ForkedFrom = &store.ForkPoint{RunID: "first", Withholds: true}
	}},
}

// J14 N11: a record names the features that a reader must know. Earlier versions refuse it whatever
// the names are, and this one if it does not know all of them. What it does not refuse is stored
// again with its names.
func TestRecordsNameWhatReadersMustKnow(t *testing.T) {
	seen := make(map[string]bool)
	for name, c := range needing {
		r := submitted()
		c.change(&r)
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		begin := `[{"needs":[` + c.names + `]},`
		require.Equal(t, begin, string(body[:len(begin)]), name)
		require.Error(t, json.Unmarshal(body, &store.Run{}), "which is how the first version reads it")
		for n := range 8 {
			require.False(t, strings.HasPrefix(string(body), fmt.Sprintf("[%d,", n+2)), "what the second unwraps")
		}
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
		require.Equal(t, r, r.Clone(), name)
		for _, known := range store.NamedNeeds(&r) {
			seen[known] = true
		}

		inner := strings.TrimPrefix(string(body), begin)
		for names, unknown := range map[string]string{
			c.names + `,"zebra"`:             "zebra",
			`"aardvark",` + c.names:          "aardvark",
			`"aardvark",` + c.names + `,"z"`: "aardvark, z",
		} {
			_, err = store.Decode([]byte(`[{"needs":[` + names + `]},` + inner))
			require.ErrorIs(t, err, store.ErrNewer, names)
			require.ErrorIs(t, err, store.ErrCorrupt, "what stores do with a record that they cannot read")
			require.ErrorContains(t, err, "it needs "+unknown+", which this release does not know: upgrade")
		}
		for _, damaged := range []string{begin[:len(begin)-1] + inner, begin + inner[:len(inner)-1], begin + "]",
			`[{"needs":[]},` + inner, `[{"needs":[7]},` + inner, `[{"needs":` + c.names + `},` + inner,
			"[2," + string(body) + "]", begin + string(body) + "]"} {
			_, err = store.Decode([]byte(damaged))
			require.ErrorIs(t, err, store.ErrCorrupt, damaged)
			require.NotErrorIs(t, err, store.ErrNewer, damaged)
		}
	}
	r := queued()
	r.MaxRepeats, r.Repeats, r.Losses = 3, 2, 1
	require.Empty(t, store.NamedNeeds(&r), "one loss, which an earlier version may forget")
	r.MaxRepeats, r.Repeats, r.Losses = 2, 2, 0
	require.Empty(t, store.NamedNeeds(&r), "repeats without a loss")
	for _, name := range store.Needs() {
		require.True(t, seen[name], "no record here needs %s", name)
	}
	require.True(t, slices.IsSorted(store.Needs()))
}

// K5 J14: an older version refuses a run with an approval by several people, for which it would
// accept one person's decision, a run whose votes have keys that it would not find, and a run with
// a claimed question.
func TestOlderVersionsRefuseVotes(t *testing.T) {
	vote := interaction.Vote{Actor: "ada", Decision: interaction.Approve, VotedAt: parked().UpdatedAt}
	several := func(q *interaction.Question) {
		q.Kind, q.Subject, q.Need = interaction.Approval, &interaction.Subject{Tool: "pay"}, 2
	}
	for name, change := range map[string]func(r *store.Run){
		"need":    func(r *store.Run) { several(r.FirstOpen()) },
		"rejects": func(r *store.Run) { several(r.FirstOpen()); r.Open[0].Need, r.Open[0].Rejects = 0, 2 },
		"a vote": func(r *store.Run) {
			several(r.FirstOpen())
			r.Open[0].Votes, r.Votes = []interaction.Vote{vote}, 1
		},
		"a claim": func(r *store.Run) {
			r.Open[0].Claim = &interaction.Claim{Actor: "ada", Until: r.UpdatedAt.Add(time.Hour)}
		},
		"an earlier vote": func(r *store.Run) { r.Votes = 2 },
		"an inherited answer": func(r *store.Run) {
			r.Answers = []interaction.Answer{{ID: 1, Resolution: interaction.UserReply, Decision: interaction.Approve,
				Votes: []interaction.Vote{vote}}}
		},
	} {
		r := parked()
		change(&r)
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Equal(t, "[7,", string(body[:3]), name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
		require.Equal(t, r, r.Clone(), name)
	}
}

// M1 J14: an older version refuses a run with a journal, which its engines would ignore, and a run
// that sleeps.
func TestOlderVersionsRefuseJournals(t *testing.T) {
	for name, change := range map[string]func(r *store.Run){
		"journal": func(r *store.Run) { r.Journal = &interaction.JournalSize{Entries: 2, Bytes: 20} },
		"sleep": func(r *store.Run) {
			*r = queued()
			r.NotBefore = noon
			r.Block = &store.Block{Kind: store.BlockSleep, Until: noon}
		},
	} {
		r := parked()
		change(&r)
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Equal(t, "[8,", string(body[:3]), name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
		require.Equal(t, r, r.Clone(), name)
	}
}

// M3 J14: an older version refuses a run that is a child or has children, which it would not end
// with its parent, nor continue after them.
func TestOlderVersionsRefuseFamilies(t *testing.T) {
	for name, change := range map[string]func(r *store.Run){
		"child":  func(r *store.Run) { r.Family = &store.Family{Ancestors: []string{"root", "parent"}} },
		"parent": func(r *store.Run) { r.Family = &store.Family{Children: 3} },
		"waits": func(r *store.Run) {
			*r = queued()
			r.Family = &store.Family{Children: 3, Due: noon}
			r.Block = &store.Block{Kind: store.BlockChildren, Until: noon, Children: []string{"a", "b"}, Any: true}
		},
	} {
		r := parked()
		change(&r)
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Equal(t, "[9,", string(body[:3]), name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
		require.Equal(t, r, r.Clone(), name)
	}
}

// M3 J14: a child that is kept for its parent has the bytes that it always had: it is due in the year
// 9999. In memory, nothing is due.
func TestKeptChildIsStoredWithADueTime(t *testing.T) {
	r := finished()
	r.Family = &store.Family{Ancestors: []string{"parent"}, Kept: true}
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.Contains(t, string(body), `"family":{"children":0,"ancestors":["parent"],"due":"9999-01-01T00:00:00Z"}`)
	require.True(t, r.Family.Kept, "the record was not changed")
	indented := strings.Replace(string(body), `"family":{`, `"family": {`, 1) // read by encoding/json
	for _, body := range []string{string(body), indented} {
		got, err := store.Decode([]byte(body))
		require.NoError(t, err)
		require.Equal(t, r, got)
		require.True(t, got.KeptForParent() && got.DueAt().IsZero())
	}
	r.Family.Due = noon
	require.ErrorIs(t, r.Validate(), store.ErrInvalid, "nothing is due for a child that is kept")
	q := queued()
	q.Family = &store.Family{Ancestors: []string{"parent"}, Kept: true}
	require.ErrorIs(t, q.Validate(), store.ErrInvalid, "it has not ended")
}

// K7 J14: an older version refuses a run whose question has a wait, which it would not execute, and
// a run that continues with a default answer, which it would treat as a person's.
func TestOlderVersionsRefuseWaitsOfQuestions(t *testing.T) {
	for name, change := range map[string]func(r *store.Run){
		"wait": func(r *store.Run) {
			r.Open[0].Wait = &interaction.Wait{End: time.Hour, Then: interaction.ThenFail}
			r.Open[0].StartWait()
			r.Deadline, _ = r.NextDue()
		},
		"default answer": func(r *store.Run) {
			r.Answers = []interaction.Answer{{ID: 1, Resolution: interaction.DefaultAnswer, Text: "no"}}
		},
	} {
		r := parked()
		change(&r)
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Equal(t, "[6,", string(body[:3]), name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
	}
}

// K3 K4 J14: an older version refuses a run that asks with a form or for an approval, and a run
// with the answer to it: it would accept any text as the reply, or continue without the decision. A
// run that asks a plain question is stored as before.
func TestOlderVersionsRefuseFormsAndApprovals(t *testing.T) {
	for name, change := range map[string]func(r *store.Run){
		"schema":    func(r *store.Run) { r.Open[0].Schema = json.RawMessage(`{"type": "string"}`) },
		"also_text": func(r *store.Run) { r.Open[0].AlsoText = true },
		"subject": func(r *store.Run) {
			r.Open[0].Subject = &interaction.Subject{Tool: "pay",
				Arguments: json.RawMessage(`{"eur": 12345678901234567890.10}`)}
		},
		"value": func(r *store.Run) { r.Answers = []interaction.Answer{{ID: 1, Value: json.RawMessage(`[ 1 ]`)}} },
		"decision": func(r *store.Run) {
			r.Answers = []interaction.Answer{{ID: 1, Decision: interaction.Reject}}
		},
		"ref":               func(r *store.Run) { r.Open[0].Ref = "call-1" },
		"ref of the answer": func(r *store.Run) { r.Answers = []interaction.Answer{{ID: 1, Ref: "call-1"}} },
		"digest":            func(r *store.Run) { r.Answers = []interaction.Answer{{ID: 1, Digest: "d"}} },
		"arguments": func(r *store.Run) {
			r.Answers = []interaction.Answer{{ID: 1, Arguments: json.RawMessage(`{"a" : "<"}`)}}
		},
	} {
		r := parked()
		change(&r)
		r.ForkedFrom = &store.ForkPoint{RunID: "first"} // whose form does not say it
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Equal(t, "[4,", string(body[:3]), name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, r, got, name)
	}
}

func TestEncodeMatchesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRun(t)
		got, err := store.AppendRun([]byte("before"), &r)
		require.NoError(t, err)
		require.Equal(t, "before"+stored(t, r), string(got))
		whole, err := store.Encode(r)
		require.NoError(t, err)
		require.Equal(t, string(got), "before"+string(whole))

		h := anyRecord(t)
		got, err = store.AppendRecord([]byte("before"), &h)
		require.NoError(t, err)
		require.Equal(t, "before"+exactly(t, store.CloneRecord(h)), string(got))
	})
}

func TestCodecMatchesJSONForEveryByte(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			r := store.Run{ID: strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 19-at)}
			got, err := store.AppendRun(nil, &r)
			require.NoError(t, err)
			want := marshaled(t, r)
			if string(got) != want {
				require.Equal(t, want, string(got))
			}
			require.True(t, requireScanned(t, got), "%s", got)
			requireScanned(t, []byte(strings.Replace(want, `"id":"a`, `"id":"`+string([]byte{byte(c)}), 1)))
		}
	}
}

// B5: an agent may write its output as any JSON text. The store keeps it byte for byte, or
// refuses it.
func TestEncodeKeepsOutputBytes(t *testing.T) {
	for _, output := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `1.5e+9`, `1E9`, `null`, `true`, `{"a":{"b":[1,2]},"a":3}`, `{ "a" : [ 1 , 2 ] }`,
		"{\n\t\"a\": 1\r\n}", `"<&>"`, "\"\u2028\u2029\"",
		`"\u003c\/\ud83d\ude00\ud83d"`, "\"\xff\"", "\"\xe2\x80\"", "\"é\"", `{"}":"\"{"}`, `["\\"]`,
		strings.Repeat("[", 100) + " " + strings.Repeat("]", 100),
		strings.Repeat("[", 9_999) + " " + strings.Repeat("]", 9_999), `"` + strings.Repeat("long ", 20_000) + `"`,
	} {
		r := finished()
		r.Output = json.RawMessage(output)
		name := output[:min(len(output), 40)]
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Contains(t, string(body), output, name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, output, string(got.Output), name)
	}
	for _, output := range []string{
		`{"a":`, `{"a"}`, `{"a":1,}`, `{,}`, `{1:2}`, `[1,]`, `[1 2]`, `01`, `1.`, `.5`, `-`, `1e`, `+1`, `"\x"`,
		`"\u12g4"`, `"\u12`, `"a`, "\"\n\"", `tru`, `nul`, `{}{}`,
		`1 2`, `]`, ` {}`, "{}\n", ` `, strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	} {
		r := finished()
		r.Output = json.RawMessage(output)
		_, err := store.Encode(r)
		name := output[:min(len(output), 40)]
		require.ErrorIs(t, err, store.ErrInvalid, name)
		require.ErrorContains(t, err, "cannot be encoded: output: ", name)
	}
}

func TestFailedAppendLeavesBuffer(t *testing.T) {
	hints := map[string]any{"f": math.Inf(1)}
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for member, spoil := range map[string]func(*store.Run){
		"created_at": func(r *store.Run) { r.CreatedAt = late },
		"asked_at":   func(r *store.Run) { r.Open[0].AskedAt, r.Open[0].UIHints = late, nil },
		"ui_hints":   func(r *store.Run) { r.Open[0].UIHints, r.FinishedAt = hints, late },
		"output":     func(r *store.Run) { r.Output = json.RawMessage("{") },
	} {
		r := parked()
		spoil(&r)
		got, err := store.AppendRun([]byte("before"), &r)
		require.ErrorIs(t, err, store.ErrInvalid)
		require.ErrorContains(t, err, "run run-1 cannot be encoded: "+member+": ")
		require.Equal(t, "before", string(got))
	}
	got, err := store.AppendRecord([]byte("before"), &interaction.Record{Question: interaction.Question{ID: 3,
		UIHints: hints}})
	require.ErrorIs(t, err, store.ErrInvalid)
	require.ErrorContains(t, err, "interaction 3 cannot be encoded: ui_hints: ")
	require.Equal(t, "before", string(got))
}

// Under the race detector, a sync.Pool drops one value in four at random, and encoding/json has
// pools: the mean of a thousand runs, rounded down, does not show that.
func TestWriterReusesItsBuffer(t *testing.T) {
	r, buf := finished(), make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(1000, func() { buf, _ = store.AppendRun(buf[:0], &r) }))
}

// exactly is a value as encoding/json writes it, but with each json.RawMessage as it is. The value
// is changed.
func exactly[T any](t require.TestingT, v T) string {
	var pairs []string
	replaceRaw(reflect.ValueOf(&v).Elem(), func(raw json.RawMessage) json.RawMessage {
		mark := fmt.Sprintf(`"raw JSON %d"`, len(pairs))
		pairs = append(pairs, mark, string(raw))
		return json.RawMessage(mark)
	})
	return strings.NewReplacer(pairs...).Replace(marshaled(t, v))
}

// replaceRaw replaces each json.RawMessage in v that is not empty.
func replaceRaw(v reflect.Value, replace func(json.RawMessage) json.RawMessage) {
	if p, ok := v.Addr().Interface().(*json.RawMessage); ok {
		if len(*p) > 0 {
			*p = replace(*p)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			replaceRaw(v.Elem(), replace)
		}
	case reflect.Slice:
		for i := range v.Len() {
			replaceRaw(v.Index(i), replace)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			replaceRaw(v.Field(i), replace)
		}
	}
}

func marshaled(t require.TestingT, v any) string {
	if r, ok := v.(store.Run); ok {
		v = storedMembers(r)
	}
	body, err := json.Marshal(v)
	require.NoError(t, err)
	return string(body)
}

// storedMembers returns a struct with the fields of the run, for encoding/json, in which a pending
// question, its siblings and an answer replace the lists.
func storedMembers(r store.Run) any {
	var fields []reflect.StructField
	var values []reflect.Value
	add := func(name, tag string, v any) {
		fields = append(fields, reflect.StructField{Name: name, Type: reflect.TypeOf(v), Tag: reflect.StructTag(tag)})
		values = append(values, reflect.ValueOf(v))
	}
	for i, v := 0, reflect.ValueOf(r); i < v.NumField(); i++ {
		switch f := v.Type().Field(i); f.Name {
		case "Open":
			var siblings []interaction.Question
			if len(r.Open) > 1 {
				siblings = r.Open[1:]
			}
			add("Pending", `json:"pending,omitempty"`, r.FirstOpen())
			add("Siblings", `json:"siblings,omitempty"`, siblings)
		case "Answers":
			var answer *interaction.Answer
			if len(r.Answers) > 0 {
				answer = &r.Answers[0]
			}
			add("Answer", `json:"answer,omitempty"`, answer)
		default:
			add(f.Name, string(f.Tag), v.Field(i).Interface())
		}
	}
	members := reflect.New(reflect.StructOf(fields)).Elem()
	for i, v := range values {
		members.Field(i).Set(v)
	}
	return members.Interface()
}
