//go:build unix

package agents_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// recordedAgent is a program that replaces an agent: it prints its version and options, records
// its calls, and replays a real agent's output.
const recordedAgent = `#!/bin/sh
case "$*" in
--version) echo "$VERSION"; exit ;;
*--help) echo "$OPTIONS"; exit ;;
esac
printf '%s\n' "$@" >"$KEPT.args"
env >"$KEPT.env"
cat >"$KEPT.in"
[ ! -e "$RECORDED.jsonl" ] || cat "$RECORDED.jsonl"
[ ! -e "$RECORDED.err" ] || cat "$RECORDED.err" >&2
exit "$STATUS"
`

// adapter is an adapter under test.
type adapter struct {
	name    string
	build   func(agents.Options) (*agents.Engine, error)
	version string
	options string // in its help: it can resume
	session string // in its recordings
}

var (
	codex = adapter{"codex", agents.Codex, "0.169.0", "Commands:\n  resume    Resume a previous session",
		"01a1fea0-0838-7f11-9f09-fa047eab9f58"}
	claude = adapter{"claude", agents.Claude, "2.1.197",
		"  -r, --resume [value]  Resume a conversation by session ID", "01c4b19a-ff69-4229-a290-3a62a9489432"}
	gemini = adapter{"gemini", agents.Gemini, "0.61.0", "  -r, --resume  Resume a previous session.",
		"9a825ece-d366-4bb0-86e4-aadffc6f0521"}
	qwen = adapter{"qwen", agents.Qwen, "0.15.10", "  -r, --resume  Resume a specific session by its ID.",
		"f70e4720-5afc-4885-9218-361fab2daaaf"}
	opencode = adapter{"opencode", agents.Opencode, "1.18.33", "  -s, --session  session id to continue",
		"ses_e017d05d4ffevZOU1lnSVhm73l"}
)

type played struct {
	turn engine.Turn
	sink *enginetest.Recorder
	o    engine.Outcome
	err  error
	kept string // where it records its calls
}

// play has the program replay the recording and exit with the status.
func (a adapter) play(tb testing.TB, o agents.Options, turn engine.Turn, name string, status int) played {
	tb.Helper()
	recorded, err := filepath.Abs(filepath.Join("testdata", a.name, name))
	require.NoError(tb, err)
	p := played{turn: turn, sink: &enginetest.Recorder{}, kept: filepath.Join(tb.TempDir(), "kept")}
	o.Command = filepath.Join(tb.TempDir(), a.name)
	require.NoError(tb, os.WriteFile(o.Command, []byte(recordedAgent), 0o700))
	o.StateDir = tb.TempDir()
	set := map[string]string{"VERSION": a.version, "OPTIONS": a.options, "KEPT": p.kept, "RECORDED": recorded,
		"STATUS": strconv.Itoa(status)}
	for name, v := range o.Set {
		set[name] = v
	}
	o.Set = set
	e, err := a.build(o)
	require.NoError(tb, err)
	p.o, p.err = e.RunTurn(tb.Context(), p.turn, p.sink)
	return p
}

// first is the first turn of a run with its own folders.
func first(tb testing.TB, mode fsm.Mode) engine.Turn {
	tb.Helper()
	dir := tb.TempDir()
	t := engine.Turn{
		RunID: "r1", Attempt: 1, Mode: mode, Prompt: "/what time is it?",
		WorkDir: filepath.Join(dir, "work"), ArtifactDir: filepath.Join(dir, "artifacts, all"),
		TranscriptDir: filepath.Join(dir, "transcripts"), HomeDir: filepath.Join(dir, "home"),
	}
	for _, d := range []string{t.WorkDir, t.ArtifactDir, t.TranscriptDir, t.HomeDir} {
		require.NoError(tb, os.Mkdir(d, 0o700))
	}
	return t
}

// later is the turn after it, with an answer.
func (a adapter) later(t engine.Turn) engine.Turn {
	t.Attempt++
	t.Answers = []interaction.Answer{{ID: 1, Text: "--yolo"}}
	t.Session = &engine.SessionHandle{Engine: a.name, Version: a.version, Data: []byte(strconv.Quote(a.session))}
	return t
}

// lines returns the lines of the file with this suffix that recordedAgent has written.
func (p played) lines(tb testing.TB, suffix string) []string {
	tb.Helper()
	body, err := os.ReadFile(p.kept + suffix)
	require.NoError(tb, err)
	return strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
}

// B1, B4, B11, E2: the adapters parse recorded output of agents. Each recording was made with the
// tested version and then shortened.
func TestRulesReadRecordedOutput(t *testing.T) {
	for _, tc := range []struct {
		agent    adapter
		record   string
		status   int // its exit status
		resumed  bool
		messages []string
		final    string
		failed   fsm.Code
		detail   string
		usage    engine.Usage
		warnings int
	}{
		{agent: codex, record: "answer", final: "it is noon", usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: codex, record: "answer", resumed: true, final: "it is noon", usage: engine.Usage{InputTokens: 11,
			OutputTokens: 7}},
		{agent: codex, record: "tool", messages: []string{"I will look."}, final: "It said so.",
			usage: engine.Usage{InputTokens: 33, OutputTokens: 21}, warnings: 1},
		{agent: codex, record: "refused", status: 1, failed: fsm.CodeEngineFailed, detail: "no such model",
			warnings: 1},
		{agent: codex, record: "cut", status: 1, failed: fsm.CodeEngineFailed,
			detail: "stream closed before response.completed", warnings: 2},
		{agent: codex, record: "nothing", failed: fsm.CodeEngineFailed, detail: "before its turn was complete"},
		{agent: codex, record: "gone", status: 1, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "no rollout found"},

		{agent: claude, record: "answer", final: "it is noon", usage: engine.Usage{InputTokens: 11, OutputTokens: 7,
			CostUSD: 0.00023}},
		{agent: claude, record: "answer", resumed: true, final: "it is noon", usage: engine.Usage{InputTokens: 11,
			OutputTokens: 7, CostUSD: 0.00023}},
		{agent: claude, record: "tool", messages: []string{"I will look."}, final: "It said so.",
			usage: engine.Usage{InputTokens: 33, OutputTokens: 21, CostUSD: 0.00069}},
		{agent: claude, record: "refused", status: 1, final: "API Error: 400 no such model",
			failed: fsm.CodeEngineFailed, detail: "400 no such model"},
		{agent: claude, record: "cut", status: 1, final: "API Error: Failed to parse JSON",
			failed: fsm.CodeEngineFailed, detail: "Failed to parse JSON"},
		{agent: claude, record: "turns", status: 1, failed: fsm.CodeEngineFailed, detail: "Reached maximum number of " +
			"turns", usage: engine.Usage{InputTokens: 11, OutputTokens: 7, CostUSD: 0.00023}},
		{agent: claude, record: "nothing", failed: fsm.CodeEngineFailed, detail: "before its turn was complete"},
		{agent: claude, record: "gone", status: 1, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "No conversation found"},

		{agent: gemini, record: "answer", final: "it is noon", usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: gemini, record: "answer", resumed: true, final: "it is noon", usage: engine.Usage{InputTokens: 11,
			OutputTokens: 7}},
		{agent: gemini, record: "tool", messages: []string{"I will look."}, final: "It said so.",
			usage: engine.Usage{InputTokens: 22, OutputTokens: 14}},
		{agent: gemini, record: "refused", status: 144, failed: fsm.CodeEngineFailed, detail: "no such model"},
		{agent: gemini, record: "cut", status: 1, final: "partial ", failed: fsm.CodeEngineFailed,
			detail: "[API Error: terminated]"},
		{agent: gemini, record: "terminated", final: "partial ", failed: fsm.CodeEngineFailed,
			detail: "before its turn was complete"},
		{agent: gemini, record: "empty", failed: fsm.CodeEngineFailed, detail: "no text",
			usage: engine.Usage{InputTokens: 11}, warnings: 1},
		{agent: gemini, record: "gone", status: 42, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "Invalid session identifier"},
		{agent: gemini, record: "elsewhere", status: 42, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "No previous sessions"},

		{agent: qwen, record: "answer", final: "it is noon", usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: qwen, record: "answer", resumed: true, final: "it is noon", usage: engine.Usage{InputTokens: 11,
			OutputTokens: 7}},
		{agent: qwen, record: "tool", messages: []string{"I will look."}, final: "It said so.",
			usage: engine.Usage{InputTokens: 22, OutputTokens: 14}},
		{agent: qwen, record: "refused", final: "[API Error: 400 no such model]", failed: fsm.CodeEngineFailed,
			detail: "400 no such model"},
		{agent: qwen, record: "refused-later", final: "[API Error: 401 no such key]", failed: fsm.CodeEngineFailed,
			detail: "401 no such key", usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: qwen, record: "cut", final: "partial [API Error: terminated (cause: other side closed)]",
			failed: fsm.CodeEngineFailed, detail: "other side closed"},
		{agent: qwen, record: "quoted", final: "It failed with [API Error: 400 no such model]",
			usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: qwen, record: "terminated", final: "I will look.", failed: fsm.CodeEngineFailed,
			detail: "before its turn was complete"},
		{agent: qwen, record: "unable", status: 1, failed: fsm.CodeEngineFailed, detail: "Missing API key"},
		{agent: qwen, record: "gone", status: 1, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "No saved session found with ID"},
		{agent: qwen, record: "unnamed", status: 1, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "No saved session found with title"},

		{agent: opencode, record: "answer", final: "it is noon", usage: engine.Usage{InputTokens: 11, OutputTokens: 7,
			CostUSD: 0.25}},
		{agent: opencode, record: "answer", resumed: true, final: "it is noon", usage: engine.Usage{InputTokens: 11,
			OutputTokens: 7, CostUSD: 0.25}},
		{agent: opencode, record: "tool", messages: []string{"I will look."}, final: "It said so.",
			usage: engine.Usage{InputTokens: 22, OutputTokens: 14, CostUSD: 0.75}},
		{agent: opencode, record: "refused", status: 1, failed: fsm.CodeEngineFailed, detail: "no such model"},
		{agent: opencode, record: "rejected", failed: fsm.CodeEngineFailed, detail: "permission requested: bash " +
			"(echo hi); auto-rejecting", usage: engine.Usage{InputTokens: 11, OutputTokens: 7}},
		{agent: opencode, record: "long", final: "it is no", usage: engine.Usage{InputTokens: 11, OutputTokens: 7},
			warnings: 1},
		{agent: opencode, record: "gone", status: 1, resumed: true, failed: fsm.CodeSessionResumeFailed,
			detail: "Session not found"},
	} {
		name := tc.agent.name + "/" + tc.record
		if tc.resumed {
			name += ", resumed"
		}
		t.Run(name, func(t *testing.T) {
			turn := first(t, fsm.ModeInteractive)
			if tc.resumed {
				turn = tc.agent.later(turn)
			}
			p := tc.agent.play(t, agents.Options{}, turn, tc.record, tc.status)
			require.NoError(t, p.err)
			require.Equal(t, tc.failed, p.o.Process.Code, p.o.Process.Detail)
			require.Equal(t, tc.status, p.o.Process.ExitCode)
			require.Contains(t, p.o.Process.Detail, tc.detail)
			require.Equal(t, tc.final, p.o.FinalText)
			require.Equal(t, tc.usage, p.o.Usage)
			require.Equal(t, tc.warnings, len(p.o.Diagnostics)+len(p.sink.Warnings()))
			require.Equal(t, strings.Join(tc.messages, "|"), strings.Join(p.sink.Messages(), "|"))
			if tc.failed == "" {
				require.Equal(t, tc.agent.session, session(t, p.o.Session))
			}
			if tc.failed == "" && !tc.resumed {
				require.Equal(t, p.o.Session, p.sink.Last(), "told early")
			}
		})
	}
}

// session returns the session in the handle.
func session(tb testing.TB, h *engine.SessionHandle) string {
	tb.Helper()
	require.NotNil(tb, h)
	s, err := strconv.Unquote(string(h.Data))
	require.NoError(tb, err)
	return s
}

// KeepsSession: a new session instead of the resumed one fails the turn.
func TestNewSessionInsteadOfTheResumedOneFails(t *testing.T) {
	for _, a := range []adapter{codex, claude, gemini, qwen, opencode} {
		turn := a.later(first(t, fsm.ModeInteractive))
		turn.Session.Data = []byte(`"another"`)
		p := a.play(t, agents.Options{}, turn, "answer", 0)
		require.NoError(t, p.err)
		require.Equal(t, fsm.CodeSessionResumeFailed, p.o.Process.Code, a.name)
	}
}
