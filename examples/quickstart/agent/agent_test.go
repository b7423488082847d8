package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlude-go/interlude/interaction"
)

var replies = []string{"roof", "yes, a jazz trio", "30 guests on Friday", "lemonade", "I accept the risk"}

// line is one that the agent prints.
type line struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	SessionID string `json:"session_id"`
}

// call runs one process of the agent in the current folder.
func call(t *testing.T, status int, stdin string, args ...string) []line {
	t.Helper()
	var out bytes.Buffer
	if got := Main(args, strings.NewReader(stdin), &out); got != status {
		t.Fatalf("%q ends with status %d, want %d; it said:\n%s", args, got, status, &out)
	}
	var lines []line
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var l line
		if err := decoder.Decode(&l); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

func first(t *testing.T, lines []line, kind string) line {
	t.Helper()
	i := slices.IndexFunc(lines, func(l line) bool { return l.Type == kind })
	if i < 0 {
		t.Fatalf("no %q in %v", kind, lines)
	}
	return lines[i]
}

// talk plays all turns, each in a process of its own, and returns the questions and the last
// reading.
func talk(t *testing.T, answers []string) (questions []interaction.Question, end interaction.Reading) {
	t.Helper()
	lines := call(t, 0, "", "-input", "Plan a party.")
	id := first(t, lines, "session").SessionID
	for i, answer := range answers {
		r := interaction.Read(first(t, lines, "final").Text, nil)
		if r.Question == nil || r.Done || r.Output != nil || len(r.Diagnostics) > 0 {
			t.Fatalf("turn %d does not just ask: %+v", i+1, r)
		}
		questions = append(questions, *r.Question)
		lines = call(t, 0, "", "-session", id, "-input", answer, "-answers", fmt.Sprint(i+1))
	}
	return questions, interaction.Read(first(t, lines, "final").Text, nil)
}

func decode(t *testing.T, raw []byte) (r result) {
	t.Helper()
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// C1 H2: five turns ask one question of each kind, then the party is planned, as the skill's schema
// wants it.
func TestAPartyIsPlannedInTurns(t *testing.T) {
	schemaFile, err := filepath.Abs("../skill/assets/output.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	questions, end := talk(t, replies)
	kinds := make([]interaction.Kind, 0, len(questions))
	for _, q := range questions {
		kinds = append(kinds, q.Kind)
	}
	want := []interaction.Kind{interaction.ChooseOne, interaction.Confirm, interaction.FillFields, interaction.OpenText,
		interaction.RiskAck}
	if !slices.Equal(kinds, want) {
		t.Fatalf("asked %v, want %v", kinds, want)
	}
	if !end.Done || end.Question != nil {
		t.Fatalf("the last turn does not say that it is done: %+v", end)
	}
	if got, want := decode(t, end.Output), (result{
		Place: "roof", Music: true, Details: "30 guests on Friday", Wish: "lemonade", Risk: "accepted",
		Artifact: "plan.md",
	}); got != want {
		t.Fatalf("planned %+v, want %+v", got, want)
	}
	plan, err := os.ReadFile("plan.md")
	if err != nil || !strings.Contains(string(plan), "lemonade") {
		t.Fatalf("the plan holds %q, %v", plan, err)
	}

	raw, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Required []string `json:"required"`
	}
	var output map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(end.Output, &output); err != nil {
		t.Fatal(err)
	}
	slices.Sort(schema.Required)
	if got := slices.Sorted(maps.Keys(output)); !slices.Equal(got, schema.Required) {
		t.Fatalf("the output has %v, the schema wants %v", got, schema.Required)
	}
}

// C6: the agent knows an automatic decision of every policy, and takes its own careful choice then.
func TestNobodyReplies(t *testing.T) {
	for _, policy := range []interaction.DecisionPolicy{interaction.EngineJudgement, interaction.SafeDefault,
		interaction.Abort} {
		t.Run(string(policy), func(t *testing.T) {
			t.Chdir(t.TempDir())
			instruction := interaction.NewAutoDecision(interaction.Question{ID: 1, DefaultPolicy: policy}).Instruction
			_, end := talk(t, slices.Repeat([]string{instruction}, len(questions)))
			if got, want := decode(t, end.Output), (result{
				Place: "garden", Details: "12 guests on Saturday at six", Wish: "lanterns", Risk: "tent",
				DecidedAlone: 5, Artifact: "plan.md",
			}); got != want {
				t.Fatalf("planned %+v, want %+v", got, want)
			}
		})
	}
}

// H1: in auto mode one turn does it all, and asks nothing.
func TestAutoModeAsksNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	r := interaction.Read(first(t, call(t, 0, "", "-mode=auto", "-input=Plan a party."), "final").Text, nil)
	if r.Question != nil || !r.Done || decode(t, r.Output).DecidedAlone != len(questions) {
		t.Fatalf("auto mode ends with %+v", r)
	}
}

// D3: the resident form answers each line with the same turn, and takes replies as long as they may
// be.
func TestTheResidentFormSaysTheSame(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("lemonade ", interaction.MaxReplyText/9)
	var in strings.Builder
	fmt.Fprintln(&in, `{"input":"Plan a party.","answers":0}`)
	for i, reply := range replies {
		if i == 3 {
			reply = long
		}
		body, err := json.Marshal(map[string]any{"input": reply, "answers": i + 1})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(body, '\n'))
	}
	var finals []string
	ends := 0
	for _, l := range call(t, 0, in.String(), "-resident") {
		switch l.Type {
		case "final":
			finals = append(finals, l.Text)
		case "turn_end":
			ends++
		}
	}
	if len(finals) != len(questions)+1 || ends != len(finals) {
		t.Fatalf("%d turns, %d ends, want %d of each", len(finals), ends, len(questions)+1)
	}
	for i, q := range questions {
		if finals[i] != q.text {
			t.Fatalf("turn %d says %q", i+1, finals[i])
		}
	}
	if got := decode(t, interaction.Read(finals[len(questions)], nil).Output).Wish; got != strings.TrimSpace(long) {
		t.Fatalf("the wish has %d bytes, want %d", len(got), len(long)-1)
	}
}

// E4: a turn whose end nobody noticed comes again; its answer goes to its own question, once.
func TestATurnComesAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	id := first(t, call(t, 0, "", "-input=Plan a party."), "session").SessionID
	again := []string{"-session", id, "-input=lake", "-answers=1"}
	once, twice := call(t, 0, "", again...), call(t, 0, "", again...)
	if !slices.Equal(once, twice) {
		t.Fatalf("first %v, then %v", once, twice)
	}
	body, err := os.ReadFile("session.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept session
	if err := json.Unmarshal(body, &kept); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(kept.Answers, []string{"lake"}) {
		t.Fatalf("the session keeps %v", kept.Answers)
	}
}

// C3: a free text is understood as a person means it.
func TestYesAndNo(t *testing.T) {
	for text, want := range map[string]bool{
		"yes": true, "Yes, please": true, "ok": true, "I accept the risk": true, "accept": true, "y": true,
		"no": false, "tent": false, "I do not accept that": false, "I don't accept it": false,
		"Yesterday I said no": false, "no, I can't accept": false, "": false,
		"Nothing to add: accept": true, "I cannot accept": false, "okra": false,
	} {
		if got := yes(text); got != want {
			t.Errorf("%q counts as %t", text, got)
		}
	}
}

// E2: what cannot be gone on with ends with a status and a word, never with another party.
func TestWhatCannotBeGoneOnWith(t *testing.T) {
	t.Run("no session", func(t *testing.T) {
		t.Chdir(t.TempDir())
		first(t, call(t, 1, "", "-session=party-x", "-input=x", "-answers=1"), "lost")
	})
	t.Run("another session", func(t *testing.T) {
		t.Chdir(t.TempDir())
		call(t, 0, "", "-input=x")
		first(t, call(t, 1, "", "-session=party-x", "-input=x", "-answers=1"), "lost")
	})
	t.Run("a broken session", func(t *testing.T) {
		t.Chdir(t.TempDir())
		for _, body := range []string{"{", `{"id":"party-x","answers":["a","b"],"alone":[true]}`,
			`{"id":"party-x","answers":["a","b","c","d","e","f"],"alone":[true,true,true,true,true,true]}`} {
			if err := os.WriteFile("session.json", []byte(body), 0o600); err != nil {
				t.Fatal(err)
			}
			first(t, call(t, 1, "", "-session=party-x", "-input=x", "-answers=2"), "lost")
		}
	})
	t.Run("an answer to no question", func(t *testing.T) {
		t.Chdir(t.TempDir())
		for _, number := range []string{"3", "6", "-1"} {
			call(t, 1, "", "-input=x", "-answers="+number)
		}
	})
	t.Run("an unknown flag", func(t *testing.T) { call(t, 2, "", "-dance") })
	t.Run("a line that is no JSON", func(t *testing.T) {
		t.Chdir(t.TempDir())
		call(t, 1, "hello\n", "-resident")
	})
	t.Run("a folder that is not there", func(t *testing.T) {
		t.Chdir(t.TempDir())
		call(t, 1, "", "-mode=auto", "-artifacts=nowhere", "-input=x")
	})
}
