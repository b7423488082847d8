package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
)

// C3: the number of an option stands for its value; any other text is the reply.
func TestChoose(t *testing.T) {
	q := &contract.InputRequired{Options: []contract.Option{{Label: "A", Value: "a"}, {Label: "B", Value: "b"}}}
	for text, want := range map[string]string{"1": "a", "2": "b", "3": "3", "the first": "the first"} {
		require.Equal(t, want, choose(q, text))
	}
}

// What an agent says does nothing to the terminal.
func TestPrintable(t *testing.T) {
	require.Equal(t, "[2Jgone ]0;x\nnext �", printable("\x1b[2Jgone\t\x1b]0;x\a\r\n\u202Enext \xff"))
}

func TestWrap(t *testing.T) {
	require.Equal(t, "  a  b\n\n    c", wrap("a  b\n\n  c\n", "  "))
	for _, line := range strings.Split(wrap("  "+strings.Repeat("word ", 60), "  "), "\n") {
		require.LessOrEqual(t, len(line), width)
		require.Equal(t, "  word", line[:6])
	}
	require.Equal(t, strings.Repeat("x", 200), wrap(strings.Repeat("x", 200), ""), "a word is not broken")
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1250 * time.Millisecond: "1.2 s", 59 * time.Second: "59 s", 3 * time.Minute: "3 min", 5 * time.Hour: "5 h", 72 * time.Hour: "3 days",
	} {
		require.Equal(t, want, span(d))
	}
}

// The command that goes on has what the run needs, and nothing that is done once.
func TestAgain(t *testing.T) {
	for want, args := range map[string][]string{
		"./skill -agent demo hello":                                        {"./skill", "-new", "-agent", "demo", "-kill", "parked", "hello", "--reply=yes", "-reply", "no"},
		"go run ./examples/skill -offline -agent 'acp:opencode acp' 'a b'": {"/tmp/go-build1/b001/exe/skill", "-offline", "-agent", "acp:opencode acp", "a b"},
		`skill 'it'\''s'`:                                                  {"skill", "it's"},
	} {
		require.Equal(t, want, again(args))
	}
}

// A hint says what sort of reply is hoped for.
func TestHint(t *testing.T) {
	at := time.Now().Add(time.Minute)
	for want, q := range map[string]contract.InputRequired{
		"in your own words":                 {Kind: "open_text"},
		"yes or no":                         {Kind: "confirm"},
		"yes accepts the risk, no does not": {Kind: "risk_ack"},
		"please give name, date":            {Kind: "fill_fields", RequiredFields: []string{"name", "date"}},
		"a number, or your own words":       {Kind: "choose_one", Options: make([]contract.Option, 2)},
		"yes or no; until " + at.Local().Format("15:04:05") + ", then the run fails": {Kind: "confirm", WaitDeadlineAt: at, OnDeadline: "fail"},
	} {
		require.Equal(t, want, hint(q))
	}
}
