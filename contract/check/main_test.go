package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/contract/audit"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew, for review")

// call executes the program in this folder.
func call(t testing.TB, in string, args ...string) (code int, out, told string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(args, stdin{Reader: strings.NewReader(in)}, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// read is one file of the contract's test data.
func read(t testing.TB, path string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "testdata", path))
	require.NoError(t, err)
	return string(body)
}

const (
	goodLog = "good/question-and-answer.jsonl"
	badLog  = "violations/IV-30-speaks-while-queued.jsonl"
)

// golden are calls with reviewed output (G4).
var golden = []struct {
	name string
	args []string
	in   string // a file of the contract's test data
	code int
}{
	{"good", []string{"../testdata/good"}, "", exitWell},
	{"good-json", []string{"-json", "../testdata/good"}, "", exitWell},
	{"stdin", nil, badLog, exitFound},
	{"one-of-two", []string{"../testdata/" + goodLog, "-"}, badLog, exitFound},
	{"violations", []string{"../testdata/violations"}, "", exitFound},
	{"violations-few", []string{"../testdata/violations", "-max", "3"}, "", exitFound},
	{"violations-json", []string{"-json", "-max", "0", "../testdata/violations"}, "", exitFound},
	{"other-producer", []string{"testdata/other-producer.jsonl"}, "", exitFound},
	{"other-producer-lenient", []string{"-lenient", "testdata/other-producer.jsonl"}, "", exitWell},
	{"other-producer-lenient-json", []string{"-lenient", "-json", "testdata/other-producer.jsonl"}, "", exitWell},
	{"foreign-good", []string{"-lenient", "../testdata/foreign/good"}, "", exitWell},
	{"foreign-violations", []string{"-lenient", "../testdata/foreign/violations"}, "", exitFound},
	{"hostile", []string{"testdata/hostile.jsonl"}, "", exitFound},
	{"explain-state", []string{"-explain", "waiting_user"}, "", exitWell},
	{"explain-transition", []string{"-explain", "TR-06"}, "", exitWell},
	{"explain-two", []string{"-explain", "interaction.reply.accepted"}, "", exitWell},
	{"explain-gate", []string{"-explain", "cg-09"}, "", exitWell},
	{"explain-waiting", []string{"-explain", "WP-02"}, "", exitWell},
	{"explain-error", []string{"-explain", "SESSION_RESUME_FAILED"}, "", exitWell},
	{"explain-warning", []string{"-explain", "WC-01"}, "", exitWell},
	{"explain-fact", []string{"-explain", "handle_present"}, "", exitWell},
	{"explain-invariant", []string{"-explain", "IV-24"}, "", exitWell},
	{"explain-requirement", []string{"-explain", "F4"}, "", exitWell},
	{"explain-json", []string{"-explain", "IV-24", "-json"}, "", exitWell},
	{"explain-lenient", []string{"-explain", "lenient"}, "", exitWell},
	{"explain-lenient-json", []string{"-json", "-explain", "lenient"}, "", exitWell},
}

// G4: the program's output, word for word.
func TestCheckPrintsWhatTheGoldenFilesSay(t *testing.T) {
	for _, g := range golden {
		t.Run(g.name, func(t *testing.T) {
			in := ""
			if g.in != "" {
				in = read(t, g.in)
			}
			code, out, told := call(t, in, g.args...)
			require.Equal(t, g.code, code, told)
			require.Empty(t, told)
			path := filepath.Join("testdata", g.name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(out), 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(want), out, "review with: go test ./contract/check -update")
		})
	}
}

// G4: a wrong call has another exit code than a log with violations.
func TestCheckRefusesWrongCallsWithAStatusOfTheirOwn(t *testing.T) {
	empty := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"no-such-file"}, "no-such-file: no such file"},
		{[]string{empty}, "there is no *.jsonl in this folder"},
		{[]string{"-max", "-1", "-"}, "-max is -1"},
		{[]string{"-max", "x"}, "invalid value"},
		{[]string{"-nonsense"}, "not defined: -nonsense"},
		{[]string{"-explain", "IV-24", "file"}, "-explain checks nothing"},
		{[]string{"-explain", "IV-24", "-lenient"}, "-explain checks nothing"},
		{[]string{"-explain", "TR-6"}, "did you mean TR-06, TR-16, TR-26?"},
		{[]string{"-explain", "ENGINE_FAILD"}, "did you mean ENGINE_FAILED?"},
		{[]string{"-explain", "\x1b[2J"}, `no "\x1b[2J"; contract/README.md lists them all`},
		{[]string{"--", "-json"}, "-json: no such file"},
	} {
		code, _, told := call(t, "", c.args...)
		require.Equal(t, exitWrong, code, c.args)
		require.Contains(t, told, c.want)
	}
}

// One unreadable input does not keep the others from being checked, and its exit code is louder
// than theirs.
func TestRunChecksOtherFilesBesideAnUnreadableOne(t *testing.T) {
	code, out, told := call(t, read(t, badLog), "no-such-file", "../testdata/"+goodLog, "-")
	require.Equal(t, exitWrong, code)
	require.Contains(t, told, "no-such-file")
	require.Contains(t, out, "stdin:2: IV-30: ")
	require.Contains(t, out, "NOT OK: 1 violation in 1 of 2 files, 2 runs (1 unfinished), 13 events")

	code, out, _ = call(t, "", "no-such-file", "../testdata/"+goodLog)
	require.Equal(t, exitWrong, code)
	require.Contains(t, out, "NOT OK: 1 input could not be read")
}

func TestAFolderIsSearchedForLogs(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(deep, 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "folder.jsonl"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(deep, "bad.jsonl"), []byte(read(t, badLog)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "good.jsonl"), []byte(read(t, goodLog)), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("no log"), 0o644))
	code, out, _ := call(t, "", dir)
	require.Equal(t, exitFound, code)
	require.Contains(t, out, filepath.Join(deep, "bad.jsonl")+":2: IV-30: ")
	require.Contains(t, out, "1 of 2 files")
}

func TestHelpAndNoInput(t *testing.T) {
	code, _, told := call(t, "", "-h")
	require.Equal(t, exitWell, code)
	require.Contains(t, told, "usage: check")

	var stdout, stderr bytes.Buffer
	require.Equal(t, exitWrong, run(nil, stdin{strings.NewReader(""), true}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "usage: check")

	for _, empty := range []string{"", "\n\n"} { // a log that is well has an event
		code, out, told := call(t, empty, "-")
		require.Equal(t, exitWrong, code)
		require.Contains(t, out, "NOT OK: 1 input could not be read")
		require.Equal(t, "check: stdin: there is no event in it, so nothing was checked\n", told)
	}
}

// A pipe that closes is no verdict.
func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	code := run([]string{"../testdata/good"}, stdin{Reader: strings.NewReader("")}, broken{}, &stderr)
	require.Equal(t, exitWrong, code)
	require.Equal(t, "check: writing: pipe is closed\n", stderr.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("pipe is closed") }

// Content of a log or a file name never reaches the terminal as a command.
func TestPrintableEscapesWhatATerminalWouldObey(t *testing.T) {
	for in, want := range map[string]string{
		"plain → é":    "plain → é",
		"\x1b[31mred":  `\x1b[31mred`,
		"a\x00b\nc":    `a\x00b\nc`,
		"\xff\xfe":     `\xff\xfe`,
		"\u3164\ufe0f": `\u3164\ufe0f`,
		"\u202egnp":    `\u202egnp`,
		"kept \ufffd!": "kept \ufffd!",
	} {
		require.Equal(t, want, printable(in))
	}
}

// FuzzOutput: whatever is checked under whatever name, the output is lines of printable text, and
// valid JSON where that is asked for.
func FuzzOutput(f *testing.F) {
	f.Add("log.jsonl", read(f, badLog))
	f.Add("\x1b[2J", `{"run_id":"r","seq":1,"\u001b[2J":1}`)
	f.Add("\xff", "\xff\n\x00\n[[[")
	invariants := map[string]contract.Invariant{}
	for _, i := range contract.Load().Invariants {
		invariants[i.ID] = i
	}
	f.Fuzz(func(t *testing.T, name, log string) {
		report, err := audit.Log(strings.NewReader(log), audit.Options{Lenient: true})
		require.NoError(t, err)
		for asJSON, reporter := range reporters {
			var out bytes.Buffer
			told := reporter(&printer{out: &out})
			for _, v := range report.Violations {
				told.violation(name, v, invariants[v.Invariant])
			}
			passed := forgivenCounts{}
			passed.add(report.Forgiven)
			told.summary(&summary{Files: 1, Violations: report.Found,
				ByInvariant: map[string]int{"IV-01": report.Found}, Lenient: true, Forgiven: passed.list()})
			for line := range strings.Lines(out.String()) {
				require.True(t, strings.HasSuffix(line, "\n"))
				line = strings.TrimSuffix(line, "\n")
				if asJSON {
					require.True(t, json.Valid([]byte(line)), line)
				} else {
					require.Equal(t, line, printable(line))
				}
			}
		}
	})
}
