package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/examples/quickstart/agent"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// asProgram has this test program be the example.
const asProgram = "INTERLUDE_EXAMPLE_QUICKSTART"

// TestMain lets this test program be the agent too, as the example's own program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		os.Exit(agent.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// last is the object that the example prints as its last line.
type last struct {
	State        fsm.State `json:"state"`
	Attempts     int       `json:"attempts"`
	Events       uint64    `json:"events"`
	Interactions int       `json:"interactions"`
	Warnings     []string  `json:"warnings"`
	RunID        string    `json:"run_id"`
	DB           string    `json:"db"`
}

// play runs the example with answers on its standard input.
func play(t *testing.T, answers string, args ...string) (last, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "answers")
	if err := os.WriteFile(file, []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	var out bytes.Buffer
	if err := run(t.Context(), args, in, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	decoder := json.NewDecoder(strings.NewReader(lines[len(lines)-1]))
	decoder.DisallowUnknownFields()
	var l last
	if err := decoder.Decode(&l); err != nil {
		t.Fatalf("the last line is %q: %v", lines[len(lines)-1], err)
	}
	return l, out.String()
}

const all = "2\nyes\n30 guests on Friday\nlemonade\naccept\n"

// A2 B4: the main job, with a process a turn and with one that stays; its output passes the skill's
// schema without a warning.
func TestTheMainJob(t *testing.T) {
	for _, profile := range fsm.Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "runs.db")
			l, out := play(t, all, "-db", db, "-profile", string(profile))
			if l.State != fsm.StateSucceeded || l.Attempts != 6 || l.Interactions != 5 || len(l.Warnings) != 0 ||
				l.DB != db || l.RunID == "" || l.Events == 0 {
				t.Fatalf("ended with %+v\n%s", l, out)
			}
			for _, want := range []string{`"place":"roof"`, "choose_one", "confirm", "fill_fields", "open_text",
				"risk_ack"} {
				if !strings.Contains(strings.ReplaceAll(out, `": `, `":`), want) {
					t.Errorf("%s is not shown in\n%s", want, out)
				}
			}
		})
	}
}

// E1: parked by one program, gone on with by others, an answer at a time.
func TestParkAndResume(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs.db")
	l, _ := play(t, "", "-db", db, "-park")
	id := l.RunID
	if l.State != fsm.StateWaitingUser || l.Attempts != 1 {
		t.Fatalf("parked as %+v", l)
	}
	for i, answer := range strings.SplitAfter(strings.TrimSuffix(all, "\n"), "\n") {
		if l, _ = play(t, answer, "-db", db, "-resume"); l.RunID != id || l.Attempts != i+2 {
			t.Fatalf("after answer %d: %+v", i+1, l)
		}
	}
	if l.State != fsm.StateSucceeded {
		t.Fatalf("ended with %+v", l)
	}
}

// C3: an answer that is no text is asked for again; one that is too long to be read leaves the run
// parked, and says so.
func TestAnswersThatCannotBeTaken(t *testing.T) {
	db := filepath.Join(t.TempDir(), "runs.db")
	l, out := play(t, strings.Repeat("x", 3*interaction.MaxReplyText), "-db", db)
	if l.State != fsm.StateWaitingUser || !strings.Contains(out, "the answer cannot be read: a line is longer than") {
		t.Fatalf("parked as %+v\n%s", l, out)
	}
	l, out = play(t, "no text \xff\n"+all, "-db", db, "-resume")
	if l.State != fsm.StateSucceeded || !strings.Contains(out, "> no text \\xff\n") || !strings.Contains(out,
		"invalid reply") {
		t.Fatalf("ended with %+v\n%s", l, out)
	}
}

// C3: the number of an option stands for its value; any other text is the answer.
func TestChoose(t *testing.T) {
	q := fcmp.InputRequired{Options: []fcmp.Option{{Label: "A", Value: "a"}, {Label: "B", Value: "b"}}}
	for text, want := range map[string]string{"1": "a", "2": "b", "3": "3", "the first": "the first"} {
		if got := choose(q, text); got != want {
			t.Errorf("%q chooses %q, want %q", text, got, want)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	for want, args := range map[string][]string{
		"unexpected argument":      {"now"},
		"-profile is":              {"-profile", "x"},
		"need -db":                 {"-park"},
		"needs -profile":           {"-db", "x.db", "-park", "-profile", "sticky_process"},
		"nothing to resume":        {"-db", filepath.Join(t.TempDir(), "none.db"), "-resume"},
		"flag provided but not":    {"-dance"},
		"invalid value \"soon\" f": {"-timeout", "soon"},
		"want whole seconds":       {"-timeout", "10ms"},
		"leave them out":           {"-db", "x.db", "-resume", "-strict=false"},
		"-kill-after is \"#0\"":    {"-db", "x.db", "-kill-after", "#0"},
		"user.input.required, ":    {"-db", "x.db", "-kill-after", "nothing"},
		"interaction.wait.timeout": {"-db", "x.db", "-kill-after", ""},
	} {
		var out bytes.Buffer
		if err := run(t.Context(), args, os.Stdin, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
