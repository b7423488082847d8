package interaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This file tests each limit: the largest allowed value, and one beyond it.

func letters(n int) string { return strings.Repeat("x", n) }

// M1: a journal holds entries up to each of its limits; malformed entries are no matter of a limit.
func TestM1AJournalHasItsBounds(t *testing.T) {
	entry := func(change func(e *JournalEntry)) JournalEntry {
		e := JournalEntry{Path: "1", Name: "n", Type: "step", Body: []byte("1")}
		change(&e)
		return e
	}
	full := JournalSize{Entries: MaxJournalEntries - 1, Bytes: MaxJournalSize - 7}
	small := entry(func(*JournalEntry) {})
	require.Equal(t, 7, small.Size())
	for name, c := range map[string]struct {
		size  *JournalSize
		entry JournalEntry
		fault string // of a limit
	}{
		"first":     {nil, entry(func(*JournalEntry) {}), ""},
		"body fits": {nil, entry(func(e *JournalEntry) { e.Body = make([]byte, MaxJournalBody) }), ""},
		"body too long": {nil, entry(func(e *JournalEntry) { e.Body = make([]byte, MaxJournalBody+1) }),
			"an entry may have 1048576"},
		"last": {&full, entry(func(*JournalEntry) {}), ""},
		"one too many": {&JournalSize{Entries: MaxJournalEntries}, entry(func(*JournalEntry) {}),
			"a run may have 10000 entries"},
		"a byte too many": {&full, entry(func(e *JournalEntry) { e.Name = "nn" }),
			"the entries of a run may have 64 MiB together"},
		"words fit": {nil, entry(func(e *JournalEntry) {
			e.Path, e.Name, e.Type = letters(MaxJournalWord), letters(MaxJournalWord), letters(MaxJournalWord)
		}), ""},
		"no name": {nil, entry(func(e *JournalEntry) { e.Name = "" }), ""},
	} {
		before := JournalSize{}
		if c.size != nil {
			before = *c.size
		}
		next, err := c.size.With([]JournalEntry{c.entry})
		if c.fault != "" {
			require.ErrorIs(t, err, ErrJournalFull, name)
			require.ErrorContains(t, err, c.fault, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, JournalSize{before.Entries + 1, before.Bytes + int64(c.entry.Size())}, *next, name)
		if c.size != nil {
			require.Equal(t, before, *c.size, "the size before is as it was")
		}
	}
	for _, wrong := range []JournalEntry{
		entry(func(e *JournalEntry) { e.Path = letters(MaxJournalWord + 1) }),
		entry(func(e *JournalEntry) { e.Name = "\xff" }),
		entry(func(e *JournalEntry) { e.Type = "\x00" }),
		entry(func(e *JournalEntry) { e.Type = "a\x00" }),
		entry(func(e *JournalEntry) { e.Path = "" }),
		entry(func(e *JournalEntry) { e.Type = "" }),
		entry(func(e *JournalEntry) { e.Body = nil }),
	} {
		_, err := full.With([]JournalEntry{entry(func(*JournalEntry) {}), wrong})
		require.ErrorContains(t, err, "interaction: journal entry ")
		require.NotErrorIs(t, err, ErrJournalFull)
	}
	for _, size := range []*JournalSize{nil, &full} {
		next, err := size.With(nil)
		require.NoError(t, err)
		require.Same(t, size, next)
	}
}

// C5, K3, K4: a reply may be as large as each limit says.
func TestC5AReplyUpToItsBounds(t *testing.T) {
	groups := slices.Repeat([]string{letters(MaxGroup)}, MaxGroups)
	full := Reply{ID: 1, Text: letters(MaxReplyText), Key: letters(MaxKey), Seen: letters(64),
		Value: json.RawMessage(`"` + letters(MaxValue-2) + `"`),
		Actor: Actor{ID: letters(MaxActor), Via: letters(MaxVia), Groups: groups}}
	require.NoError(t, full.Validate())
	for field, change := range map[string]func(r *Reply){
		"ID":            func(r *Reply) { r.ID = 0 },
		"Text":          func(r *Reply) { r.Text += "x" },
		"Text ":         func(r *Reply) { r.Text = "a\x00" },
		"Text  ":        func(r *Reply) { r.Text = "\x00" },
		"Key":           func(r *Reply) { r.Key += "x" },
		"Key ":          func(r *Reply) { r.Key = "\x00" },
		"Key  ":         func(r *Reply) { r.Key = "\xff" },
		"Seen":          func(r *Reply) { r.Seen += "x" },
		"Value":         func(r *Reply) { r.Value = json.RawMessage(`"` + letters(MaxValue-1) + `"`) },
		"Actor":         func(r *Reply) { r.Actor.ID += "x" },
		"Actor ":        func(r *Reply) { r.Actor.ID = "\x00" },
		"Actor.Via":     func(r *Reply) { r.Actor.Via += "x" },
		"Actor.Groups":  func(r *Reply) { r.Actor.Groups = append(slices.Clip(groups), "x") },
		"Actor.Groups ": func(r *Reply) { r.Actor.Groups = []string{letters(MaxGroup + 1)} },
	} {
		r := full
		change(&r)
		var fault *FieldError
		require.ErrorAs(t, r.Validate(), &fault, field)
		require.Equal(t, strings.TrimSpace(field), fault.Field)
	}
}

// K3: surrogates count only as whole pairs, wherever they occur.
func TestK3HalvesOfCharacters(t *testing.T) {
	for body, half := range map[string]bool{
		`\ud800\udc00`: false, `\udbff\udfff`: false, `\uDBFF\uDC00`: false, `\ud800\udfff`: false, `\ud7ff`: false,
		`\ue000`: false, `\ud800`: true, `\udbff`: true, `\udc00`: true, `\udfff`: true, `\ud800\ud800`: true,
		`\ud800\ue000`: true, `\ud800\udbff`: true, `\udbff\u0041`: true, `\ud800xudc00`: true,
		`\ud800\ndc000`: true, `\ud800\udc00\ud800\udc00`: false, `\ud800\udc00\udc00`: true, `a\\\ud800\udc00`: false,
		`\ud800\udc00\\udc00`: false, `\ud800\udc00\n\udc00`: true, `\\\udc00`: true, `\\udc00`: false,
		`\n\ud800`: true, `\udc00\udc00`: true,
	} {
		err := validateJSON(json.RawMessage(`"` + body + `"`))
		require.Equal(t, half, err != nil, "%s: %v", body, err)
	}
}

// K3: the schema of a form has its bounds: its bytes, its patterns, how often a value is checked,
// and both together.
func TestK3ASchemaHasItsBounds(t *testing.T) {
	bytes := func(n int) string { return `{"title":"` + letters(n-len(`{"title":""}`)) + `"}` }
	require.NoError(t, validateSchema(json.RawMessage(bytes(MaxSchema))))
	require.ErrorContains(t, validateSchema(json.RawMessage(bytes(MaxSchema+1))), "131073 bytes, at most 131072")

	pattern := func(instructions int) string { return letters(instructions - 2) } // plus the failing
	// and the matching instruction
	alone := func(n int) string { return `{"pattern":"` + pattern(n) + `"}` }
	within := func(n int) string { return `{"allOf":[` + alone(n) + `]}` }
	named := func(n int) string { return `{"patternProperties":{"` + pattern(n) + `":true}}` }
	for _, s := range []struct {
		schema func(n int) string
		most   int
		fault  string
	}{
		{alone, maxPatterns, "its patterns are too large: more than 5000 instructions"},
		{within, maxPatterns / 2, "2501 instructions, for a value that is checked up to 2 times"},
		{named, maxPatterns, "its patterns are too large: more than 5000 instructions"},
	} {
		require.NoError(t, validateSchema(json.RawMessage(s.schema(s.most))))
		require.ErrorContains(t, validateSchema(json.RawMessage(s.schema(s.most+1))), s.fault)
	}
	both := func(n int) string { return `{"properties":{"a":` + alone(n) + `,"b":` + alone(maxPatterns/2) + `}}` }
	require.NoError(t, validateSchema(json.RawMessage(both(maxPatterns/2))))
	require.ErrorContains(t, validateSchema(json.RawMessage(both(maxPatterns/2+1))), "its patterns are too large")
	after := func(n int) string { return `{"allOf":[` + alone(n) + `,` + alone(3) + `]}` }
	require.ErrorContains(t, validateSchema(json.RawMessage(after(maxPatterns))), "its patterns are too large")
	checks := func(n int) string { return `{"allOf":[` + strings.Repeat("true,", n-2) + `true]}` }
	require.NoError(t, validateSchema(json.RawMessage(checks(maxChecks))))
	require.ErrorContains(t, validateSchema(json.RawMessage(checks(maxChecks+1))), "would be checked 1001 times over")
}

// K4: the call that an approval is about has its bounds.
func TestK4ACallUpToItsBounds(t *testing.T) {
	arguments := func(n int) json.RawMessage { return json.RawMessage(`"` + letters(n-2) + `"`) }
	require.NoError(t, Subject{Tool: letters(MaxLabel), Arguments: arguments(MaxArguments)}.Validate())
	require.NoError(t, Subject{Tool: "t"}.Validate())
	require.ErrorContains(t, Subject{Tool: "t", Arguments: arguments(MaxArguments + 1)}.Validate(), "at most 65536")
	for _, tool := range []string{"", " ", "a\xff", letters(MaxLabel + 1)} {
		require.ErrorContains(t, Subject{Tool: tool}.Validate(), "tool is")
	}
}

// K5: audiences, claims and votes up to their bounds.
func TestK5PeopleUpToTheirBounds(t *testing.T) {
	names := slices.Repeat([]string{letters(MaxActor)}, MaxAudience)
	full := Audience{Users: names, Groups: names, Except: names}
	require.NoError(t, full.Validate())
	long := letters(MaxActor + 1)
	for _, wrong := range []Audience{{Users: append(slices.Clip(names), "x")}, {Groups: []string{long}},
		{Except: []string{""}}, {Users: []string{"\x00"}}} {
		require.Error(t, wrong.Validate())
	}
	until := time.Unix(9, 0)
	require.NoError(t, (&Claim{Actor: letters(MaxActor), Until: until}).Validate())
	require.Error(t, (&Claim{Actor: "\x00", Until: until}).Validate())

	require.NoError(t, ValidateVotes(MaxNeed, MaxNeed))
	require.NoError(t, ValidateVotes(0, 0))
	for _, wrong := range [][2]int{{MaxNeed + 1, 0}, {0, MaxNeed + 1}, {-1, 0}, {0, -1}} {
		require.Error(t, ValidateVotes(wrong[0], wrong[1]))
	}
	vote := Reply{ID: 1, Decision: Reject, Actor: Actor{ID: "ada"}, Text: letters(MaxVoteText)}
	require.NoError(t, vote.ValidateFor(payment(2, 0)))
	q, odd := Normalize(payment(MaxNeed, MaxNeed))
	require.Empty(t, odd)
	require.Equal(t, []int8{MaxNeed, MaxNeed}, []int8{q.Need, q.Rejects})
	q, odd = Normalize(payment(0, 2))
	require.Empty(t, odd)
	require.Equal(t, int8(2), q.Rejects)
	for _, wrong := range []Question{payment(MaxNeed+1, 2), payment(2, -1)} {
		need, rejects := wrong.Need, wrong.Rejects
		q, _ = Normalize(wrong)
		require.Equal(t, &Audience{}, q.To)
		if need == 2 {
			require.Equal(t, []int8{2, MaxNeed}, []int8{q.Need, q.Rejects})
		} else {
			require.Equal(t, []int8{MaxNeed, rejects}, []int8{q.Need, q.Rejects})
		}
	}
	for _, reserved := range []string{PolicyActor, "Memory:", PolicyActor + "x"} {
		require.Error(t, Actor{ID: reserved}.Validate())
	}
	require.NoError(t, Actor{ID: "policy"}.Validate())
	require.Nil(t, q.VoteOf(Actor{ID: "ada"}))
	voted := payment(2, 0).WithVote(ballot("bob", Approve), until).WithVote(ballot("ada", Reject), until)
	require.Equal(t, Reject, voted.VoteOf(Actor{ID: "ada"}).Decision)
	require.Equal(t, Approve, voted.VoteOf(Actor{ID: "bob"}).Decision)
	require.Empty(t, voted.Votes[0].Digest, "without a key there is no digest")
	keyed := ballot("ada", Approve)
	keyed.Key = "k"
	require.NotEmpty(t, payment(2, 0).WithVote(keyed, until).Votes[0].Digest)
}

// K7: a wait up to its bounds.
func TestK7AWaitUpToItsBounds(t *testing.T) {
	steps := func(n int) (all []WaitStep) {
		for i := range n {
			all = append(all, WaitStep{Do: Remind, After: time.Duration(i+1) * time.Second})
		}
		return all
	}
	full := Wait{Steps: steps(MaxSteps), Then: ThenFail, End: (MaxSteps + 1) * time.Second}
	require.NoError(t, full.Validate())
	for _, then := range []Then{ThenWait, ThenDecide} {
		full.Then = then
		require.NoError(t, full.Validate())
	}
	require.NoError(t, (&Wait{Steps: steps(2)}).Validate())
	require.ErrorContains(t, (&Wait{Steps: steps(MaxSteps + 1)}).Validate(), "17 steps")
	join := steps(2)
	join[1].Join = true
	require.ErrorContains(t, (&Wait{Steps: join}).Validate(), "step 2 with an audience")
	for _, to := range []Audience{{Everybody: true}, {Users: []string{"ada"}}, {Groups: []string{"a"}}} {
		require.NoError(t, (&Wait{Steps: []WaitStep{{Do: Escalate, After: time.Second, To: &to}}}).Validate())
	}
	require.ErrorContains(t, (&Wait{Then: ThenFail, End: time.Second, Default: &DefaultReply{Text: "x"}}).Validate(),
		"a Default, or none")
	many := &Audience{Users: make([]string, MaxAudience)}
	for i := range many.Users {
		many.Users[i] = fmt.Sprint("user-", i)
	}
	joined := steps(2)
	joined[1] = WaitStep{Do: Escalate, After: 2 * time.Second, To: &Audience{Users: []string{"ada"}}, Join: true}
	require.NoError(t, (&Wait{Steps: joined}).ValidateSteps(&Audience{Users: many.Users[1:]}))
	require.ErrorContains(t, (&Wait{Steps: joined}).ValidateSteps(many), "step 2 with")
	var none *Wait
	require.NoError(t, none.ValidateFor(Question{ID: 1}))
	require.NoError(t, none.ValidateSteps(nil))
	require.Nil(t, none.Clone())

	asked := time.Unix(100, 0)
	q := Question{ID: 1, AskedAt: asked}
	q.StartWait()
	require.True(t, q.EndsAt.IsZero() && q.NextDue().IsZero() && !q.StepDue() && q.nextStep() == nil)
	q.Wait = &Wait{Steps: steps(1)}
	q.StartWait()
	require.True(t, q.EndsAt.IsZero())
	require.Equal(t, asked.Add(time.Second), q.NextDue())
	q = q.Fire()
	require.True(t, q.NextDue().IsZero() && q.nextStep() == nil)
	q.StartWait()
	require.Zero(t, q.Fired, "it is asked anew")
	q.Wait, q.EndsAt = &Wait{Then: ThenFail, End: time.Minute, Steps: steps(1)}, asked.Add(time.Millisecond)
	require.Equal(t, q.EndsAt, q.NextDue(), "an end that was moved before the step")
	require.False(t, q.StepDue())
}

// K1: several answers are counted in words.
func TestK1OrdinalsOfAnswers(t *testing.T) {
	for n, want := range map[int]string{1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 10: "10th", 11: "11th", 12: "12th",
		13: "13th", 14: "14th", 20: "20th", 21: "21st", 22: "22nd", 23: "23rd", 24: "24th", 101: "101st", 110: "110th",
		111: "111th", 112: "112th", 113: "113th", 114: "114th", 121: "121st"} {
		require.Equal(t, want, ordinal(n))
	}
	a := Answer{ID: 7, Resolution: UserReply, Text: "a"}
	require.Equal(t, "a", Message([]Answer{a}))
	require.Equal(t, "Answer to question 7, the 1st of 2:\na\n\nAnswer to question 8, the 2nd of 2:\n"+
		"There is no answer: the others were enough to go on.", Message([]Answer{a, {ID: 8, Resolution: Superseded}}))
	require.Empty(t, Message(nil))
}

// K5: the description of an actor, and equality.
func TestK5ActorsInWords(t *testing.T) {
	groups := []string{"a"}
	require.True(t, Actor{}.IsZero())
	for text, a := range map[string]Actor{"ada": {ID: "ada"}, "ada (by web)": {ID: "ada", Via: "web"},
		"an actor without a name": {Groups: groups}, "an actor without a name (by web)": {Via: "web"},
		"bob for ada (by web)": {ID: "bob", For: "ada", Via: "web"}} {
		require.False(t, a.IsZero())
		require.Equal(t, text, a.String())
	}
	ada := Actor{ID: "ada", Via: "web", Groups: groups}
	require.True(t, ada.Equal(Actor{ID: "ada", Via: "web", Groups: []string{"a"}}))
	for _, other := range []Actor{{ID: "bob", Via: "web", Groups: groups}, {ID: "ada", Via: "mail", Groups: groups},
		{ID: "ada", Via: "web", Groups: []string{"b"}}, {ID: "bob", Via: "mail", Groups: groups},
		{ID: "bob", Via: "web"}, {ID: "ada", Via: "mail"}, {}} {
		require.False(t, ada.Equal(other))
	}
}

// K3: the value of an answer as a type of Go's.
func TestK3AsDecodesTheValue(t *testing.T) {
	v, err := As[map[string]any](Answer{ID: 7, Value: json.RawMessage(`{"n":9007199254740993}`)})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"n": json.Number("9007199254740993")}, v)
	_, err = As[string](Answer{ID: 7, Resolution: UserReply})
	require.ErrorIs(t, err, ErrNoValue)
	require.ErrorContains(t, err, "question 7 was settled by user_reply")
	_, err = As[string](Answer{ID: 7, Value: json.RawMessage(`1`)})
	require.ErrorContains(t, err, "interaction: the answer to question 7: ")
	require.NotErrorIs(t, err, ErrNoValue)
}

// K4: only the approval of this very call lets it be executed.
func TestK4WhatIsApproved(t *testing.T) {
	q := payment(0, 0)
	q.Ref, q.Subject.Arguments = "call-1", json.RawMessage(`{"eur":1}`)
	other := q
	other.Subject = &Subject{Tool: "pay", Arguments: json.RawMessage(`{"eur":2}`)}
	approve := Reply{ID: 1, Decision: Approve}.AnswerTo(&q, time.Unix(9, 0))
	edit := Reply{ID: 1, Decision: Edit, Value: json.RawMessage(`{"eur":3}`)}.AnswerTo(&q, time.Unix(9, 0))
	changed := func(change func(a *Answer)) Answer {
		a := approve
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		answer   Answer
		question Question
		want     string // the arguments, or the error
	}{
		"approved":         {approve, q, `{"eur":1}`},
		"edited":           {edit, q, `{"eur":3}`},
		"without a digest": {changed(func(a *Answer) { a.Digest = "" }), q, `{"eur":1}`},
		"another call": {changed(func(a *Answer) { a.Ref = "call-2" }), q,
			"interaction: not approved: the answer is not about the call to be executed now"},
		"other arguments": {approve, other,
			"interaction: not approved: the answer is not about the call to be executed now"},
		"rejected": {changed(func(a *Answer) { a.Decision, a.Text = Reject, "no" }), q,
			`interaction: not approved: question 1: reject: "no"`},
		"nobody": {changed(func(a *Answer) { a.Decision = "" }), q, "interaction: not approved: there is no decision"},
	} {
		arguments, err := c.answer.Approved(c.question)
		if strings.HasPrefix(c.want, "{") {
			require.NoError(t, err, name)
			require.Equal(t, c.want, string(arguments), name)
			continue
		}
		require.EqualError(t, err, c.want, name)
		require.ErrorIs(t, err, ErrNotApproved, name)
		require.Nil(t, arguments, name)
	}
}

// K4, K5: each kind of error is matched by its own sentinel, and by no other one.
func TestK5ErrorsAreDistinguished(t *testing.T) {
	errs := []error{&NotAskedError{}, &ClaimedError{}, &ReassignedError{}, &VotedError{}, &NotApprovedError{},
		&ChangedError{}, &FieldError{}, &ValueError{}}
	sentinels := []error{ErrNotAsked, ErrClaimed, ErrReassigned, ErrVoted, ErrNotApproved, ErrQuestionChanged,
		ErrInvalidReply, ErrInvalidReply}
	for i, err := range errs {
		for _, sentinel := range sentinels {
			own := sentinels[i].Error() == sentinel.Error()
			require.Equal(t, own, errors.Is(err, sentinel), "%T, %v", err, sentinel)
		}
	}
	require.EqualError(t, &ReassignedError{ID: 7}, ErrReassigned.Error()+": interaction 7 is for everybody")
}

// N9: a ruling names its rule and version, unless it only leaves the question to its audience.
func TestN9ARulingNamesItsRule(t *testing.T) {
	to := &Audience{Users: []string{"ada"}}
	for _, c := range []struct {
		ruling Ruling
		valid  bool
	}{
		{Ruling{}, true}, {Ruling{Need: 2}, false}, {Ruling{To: to}, false}, {Ruling{Decision: Approve}, false},
		{Ruling{Rule: "aZ-0.m_9", Version: "1", Decision: Reject}, true},
		{Ruling{Rule: "two words", Version: "1"}, false}, {Ruling{Rule: "small"}, false},
		{Ruling{Rule: letters(MaxRule), Version: "z", Need: MaxNeed, To: to}, true},
		{Ruling{Rule: letters(MaxRule + 1), Version: "z"}, false},
		{Ruling{Rule: "small", Version: "1", Need: 2, Decision: Approve}, false},
		{Ruling{Rule: "small", Version: "1", To: to, Decision: Approve}, false},
		{Ruling{Rule: "small", Version: "1", Decision: Edit}, false},
		{Ruling{Rule: "small", Version: "1", Need: MaxNeed + 1}, false},
		{Ruling{Rule: "small", Version: "1", Reason: letters(MaxVoteText)}, true},
		{Ruling{Rule: "small", Version: "1", Reason: letters(MaxVoteText + 1)}, false},
	} {
		require.Equal(t, c.valid, c.ruling.Validate() == nil, "%.200v", c.ruling)
	}
	for name, ruling := range map[string]Ruling{"policy:small@7": {Rule: "small", Version: "7"}, "policy:default": {}} {
		require.Equal(t, Actor{ID: name, Via: PolicyVia}, ruling.Actor())
	}
}

// N1: a text that is the value of several options selects none, even if it is a label, too.
func TestN1AnAmbiguousValueSelectsNothing(t *testing.T) {
	q := Question{Kind: ChooseOne, Options: []Option{{Label: "A", Value: "x"}, {Label: "B", Value: "X"}, {Label: "x",
		Value: "c"}}}
	_, ok := q.Select("x")
	require.False(t, ok)
}

// N9: a question is hidden for seconds. N8: the error about files names the first invalid one.
func TestN8N9WhatAQuestionHas(t *testing.T) {
	asked := time.Unix(100, 0)
	q := Question{AskedAt: asked, HiddenFor: 5}
	require.Equal(t, asked.Add(5*time.Second), q.HiddenUntil())
	require.ErrorContains(t, (&Files{Host: "h", List: make([]File, 2)}).Validate(), "file 1: ")
	files := &Files{List: make([]File, 2)}
	require.Equal(t, files.List, files.All())
	require.Empty(t, (*Files)(nil).All())
}

// N4: white space of longSpace characters is counted, and shorter white space is shown.
func TestN4LongWhiteSpaceIsCounted(t *testing.T) {
	short := "a" + strings.Repeat(" ", longSpace-1) + "b"
	require.Equal(t, short, Visible(short))
	require.Equal(t, "a[16 white-space characters]b", Visible("a"+strings.Repeat(" ", longSpace)+"b"))
	lines := "a" + strings.Repeat("\n", longBreak-1) + "b"
	require.Equal(t, lines, Visible(lines))
	require.Equal(t, "a[8 white-space characters]b", Visible("a"+strings.Repeat("\n", longBreak)+"b"))
	require.Equal(t, strings.Repeat(`\u{00A0}`, longSpace-1), Visible(strings.Repeat("\u00a0", longSpace-1)))
	require.Equal(t, "[16 × U+00A0]", Visible(strings.Repeat("\u00a0", longSpace)))
}

// Hosts rely on the limits: a run of one release continues with the next one.
func TestK1LimitsStayWhatTheyAre(t *testing.T) {
	require.Equal(t, []int{262_144, 32, 32, 4096, 131_072, 65_536, 65_536, 512, 1_048_576, 10_000, 67_108_864, 16, 100},
		[]int{MaxTogether, MaxQuestions, MaxNeed, MaxVoteText, MaxSchema, MaxArguments, MaxValue, MaxJournalWord,
			MaxJournalBody, MaxJournalEntries, MaxJournalSize, MaxSteps, MaxAudience})
	require.Equal(t, 744*time.Hour, MaxClaim)
}

// N9: a question is hidden while its policy has time; a zero time hides nothing.
func TestN9AQuestionIsHiddenWhileItsPolicyHasTime(t *testing.T) {
	asked := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	q := Question{AskedAt: asked, HiddenFor: 5}
	require.True(t, q.Hidden(asked.Add(5*time.Second-1)))
	require.False(t, q.Hidden(asked.Add(5*time.Second)))
	require.False(t, q.Hidden(time.Time{}))
	q.HiddenFor = 0
	require.False(t, q.Hidden(asked.Add(-time.Hour)))
	require.True(t, q.HiddenUntil().IsZero())
}

// N9: the name of a rule.
func TestN9ARulesNameIsShortAndPlain(t *testing.T) {
	for name, want := range map[string]bool{"a": true, "AZaz09._-": true, strings.Repeat("x", MaxRule): true,
		strings.Repeat("x", MaxRule+1): false, "": false, " a": false, "a b": false, "@": false, "[": false, "`": false,
		"{": false, "/": false, ":": false, "é": false} {
		require.Equal(t, want, ruleName(name), name)
	}
}

// N6: the bounds of a call's changes.
func TestN6ChangesHaveBounds(t *testing.T) {
	change := func(path, before, after string) Change { return Change{path, ChangeEdit, before, after} }
	many := make([]Change, MaxChanges+1)
	for i := range many {
		many[i] = change("a", "b", "c")
	}
	require.NoError(t, validateChanges(many[:MaxChanges]))
	require.ErrorContains(t, validateChanges(many), "33 changes, at most 32")
	require.ErrorContains(t, validateChanges([]Change{change("a", "b", "c"), change("a", "b", "b")}), "change 2 ")
	half := strings.Repeat("x", MaxChangesText/2-1)
	require.NoError(t, validateChanges([]Change{change("a", half, ""), change("b", "", half)}))
	require.ErrorContains(t, validateChanges([]Change{change("a", half, ""), change("b", "", half+"y")}),
		"the first 2 of 2 changes have 65537 bytes")
	require.ErrorContains(t, validateChanges([]Change{change(" ", "b", "c")}), "has the path")
	require.ErrorContains(t, validateChanges([]Change{change("a\x00", "b", "c")}), "has the path")
	require.ErrorContains(t, validateChanges([]Change{change(strings.Repeat("p", MaxChangePath+1), "b", "c")}),
		"has the path")
}

// N10: the error names the deputy, the absent person, and why the directory could not be read.
func TestN10NoDeputySaysWhy(t *testing.T) {
	err := &NotDeputyError{Actor: Actor{ID: "bob", For: "ada"}}
	require.NotContains(t, err.Error(), "directory")
	err.Err = errors.New("no answer")
	require.ErrorContains(t, err, `may not act for "ada" now, because the directory cannot be read: no answer`)
}

// N1: a word is of ASCII letters and digits; other spellings are normalized.
func TestN1WordsNeedNoNormalForm(t *testing.T) {
	for text, want := range map[string]bool{"azAZ09": true, "": true, "a b": false, "`": false, "{": false, "@": false,
		"[": false, "/": false, ":": false, "é": false} {
		require.Equal(t, want, isWord(text), text)
	}
	require.Equal(t, "yes please", spelling(" Yes  please "))
}
