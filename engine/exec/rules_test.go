package exec

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// heard is a turn's reading of an output.
type heard struct {
	*turn
	sink *enginetest.Recorder
	o    engine.Outcome
}

// hear reads an output of a process that exited with success.
func hear(tb testing.TB, cfg Config, output string) heard {
	tb.Helper()
	cfg.Command, cfg.Args, cfg.ResumeArgs = "agent", []string{"{input}"}, []string{"{session}"}
	cfg, err := cfg.checked()
	require.NoError(tb, err)
	h := heard{sink: &enginetest.Recorder{}}
	h.turn = newTurn(tb.Context(), &cfg, engine.Turn{}, h.sink)
	in := process.NewLineReader(strings.NewReader(output), nil, cfg.MaxLine)
	in.Allow(cfg.MaxStream)
	broken := h.readOutput(in)
	h.o, err = h.outcome(ending{}, broken)
	require.NoError(tb, err)
	return h
}

// Each agent has a different output format; rules alone describe it.
func TestRulesReadTheFormatsOfAgents(t *testing.T) {
	match := func(pairs ...string) map[string]string {
		m := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, tc := range map[string]struct {
		rules    []Rule
		output   string
		session  string
		messages []string
		final    string
		failed   fsm.Code
		usage    engine.Usage
		warnings int
	}{
		"threads and items; the last message is the final text": {
			rules: []Rule{
				{Match: match("type", "thread.started"), Do: Session, Path: "thread_id"},
				{Match: match("type", "item.completed", "item.type", "agent_message"), Do: Message, Path: "item.text"},
				{Match: match("type", "item.completed", "item.type", "error"), Do: Warning, Path: "item.message"},
				{Match: match("type", "turn.completed"), Do: InputTokens, Path: "usage.input_tokens"},
				{Match: match("type", "turn.completed"), Do: OutputTokens, Path: "usage.output_tokens"},
				{Match: match("type", "turn.completed"), Do: TurnEnd},
				{Match: match("type", "turn.failed"), Do: Failure, Path: "error.message"},
			},
			output: `{"type":"thread.started","thread_id":"t-1"}
{"type":"item.completed","item":{"type":"error","message":"an old setting"}}
{"type":"item.completed","item":{"type":"agent_message","text":"looking"}}
{"type":"item.completed","item":{"type":"command_execution","text":"__SKILL_DONE__"}}
{"type":"item.completed","item":{"type":"agent_message","text":"found it"}}
{"type":"turn.completed","usage":{"input_tokens":100,"output_tokens":20}}
`,
			session: "t-1", messages: []string{"looking"}, final: "found it", warnings: 1,
			usage: engine.Usage{InputTokens: 100, OutputTokens: 20},
		},
		"a failed turn of threads and items": {
			rules: []Rule{
				{Match: match("type", "item.completed", "item.type", "agent_message"), Do: Message, Path: "item.text"},
				{Match: match("type", "turn.failed"), Do: Failure, Path: "error.message"},
			},
			output: `{"type":"item.completed","item":{"type":"agent_message","text":"all done"}}
{"type":"turn.failed","error":{"message":"quota"}}
`,
			final: "all done", failed: fsm.CodeEngineFailed,
		},
		"content in parts, and a result with its own text": {
			rules: []Rule{
				{Match: match("type", "system", "subtype", "init"), Do: Session, Path: "session_id"},
				{Match: match("type", "assistant", "message.content.0.text?", "", "parent!", ""), Do: Message,
					Path: "message.content.*.text"},
				{Match: match("type", "result"), Do: Final, Path: "result"},
				{Match: match("type", "result", "is_error", "true"), Do: Failure, Path: "result"},
				{Match: match("type", "result"), Do: CostUSD, Path: "total_cost_usd"},
				{Match: match("type", "result"), Do: TurnEnd},
			},
			output: `{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"one "},{"type":"text","text":"moment"}]}}
{"type":"assistant","message":{"content":[{"type":"tool_use","name":"ls"}]},"parent":null}
{"type":"assistant","message":{"content":[{"type":"text","text":"I am another agent"}]},"parent":"tool-1"}
{"type":"assistant","message":{"content":[{"type":"text","text":"here"}]},"parent":null}
{"type":"result","subtype":"success","is_error":false,"result":"here","total_cost_usd":0.5}
`,
			session: "s-1", messages: []string{"one moment"}, final: "here", usage: engine.Usage{CostUSD: 0.5},
		},
		"a result that is an error, with a code of its own": {
			rules: []Rule{
				{Match: match("type", "result"), Do: Final, Path: "result"},
				{Match: match("type", "result", "is_error", "true"), Do: Failure, Path: "result",
					Code: fsm.CodeEngineUnavailable},
			},
			output: `{"type":"result","is_error":true,"result":"log in first"}` + "\n",
			final:  "log in first", failed: fsm.CodeEngineUnavailable,
		},
		"pieces, with tools between them": {
			rules: []Rule{
				{Match: match("type", "init"), Do: Session, Path: "session_id"},
				{Match: match("type", "message", "role", "assistant"), Do: Delta, Path: "content"},
				{Match: match("type", "tool_use"), Do: Break},
			},
			output: `{"type":"init","session_id":"g-1"}
{"type":"message","role":"user","content":"__SKILL_DONE__"}
{"type":"message","role":"assistant","content":"let me ","delta":true}
{"type":"message","role":"assistant","content":"look","delta":true}
{"type":"tool_use","tool":"ls"}
{"type":"message","role":"assistant","content":"it is ","delta":true}
{"type":"message","role":"assistant","content":"here","delta":true}
`,
			session: "g-1", messages: []string{"let me look"}, final: "it is here",
		},
		"the session on each line": {
			rules: []Rule{
				{Do: Session, Path: "sessionID"},
				{Match: match("type", "text"), Do: Message, Path: "part.text"},
			},
			output: `{"type":"step_start","sessionID":"o-1"}
{"type":"text","sessionID":"o-1","part":{"text":"hi"}}
{"type":"step_finish","sessionID":"o-1","part":{"reason":"stop"}}
`,
			session: "o-1", final: "hi",
		},
		"steps that say when all is said, and what each of them cost": {
			rules: []Rule{
				{Match: match("type", "text"), Do: Message, Path: "text"},
				{Match: match("type", "step"), Do: InputTokens, Path: "tokens.in", Add: true},
				{Match: match("type", "step"), Do: OutputTokens, Path: "tokens.out", Add: true},
				{Match: match("type", "step"), Do: CostUSD, Path: "cost", Add: true},
				{Match: match("type", "step", "reason", "stop"), Do: Complete},
			},
			output: `{"type":"step","reason":"tools","tokens":{"in":10,"out":1},"cost":0.5}
{"type":"text","text":"hi"}
{"type":"step","reason":"stop","tokens":{"in":20,"out":2},"cost":0.25}
`,
			final: "hi", usage: engine.Usage{InputTokens: 30, OutputTokens: 3, CostUSD: 0.75},
		},
		"B1: a process that ends before all is said has failed": {
			rules: []Rule{
				{Match: match("type", "text"), Do: Delta, Path: "text"},
				{Match: match("type", "end"), Do: Complete},
			},
			output: `{"type":"text","text":"I will n"}` + "\n",
			final:  "I will n", failed: fsm.CodeEngineFailed,
		},
		"a failure that is told only as a text": {
			rules: []Rule{
				{Match: match("type", "result"), Do: Final, Path: "text"},
				{Match: match("type", "result"),
					Like: map[string]*regexp.Regexp{"text": regexp.MustCompile(`^\[error: .*\]$`)}, Do: Failure,
					Path: "text"},
				{Like: map[string]*regexp.Regexp{"nothing": regexp.MustCompile(``)}, Do: Warning, Path: "text"},
			},
			output: `{"type":"result","text":"see [error: quota]"}` + "\n" +
				`{"type":"result","text":"[error: quota]"}` + "\n",
			final: "[error: quota]", failed: fsm.CodeEngineFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := hear(t, Config{Rules: tc.rules}, tc.output)
			require.Equal(t, tc.final, h.o.FinalText)
			require.Equal(t, tc.failed, h.o.Process.Code)
			require.Equal(t, tc.usage, h.o.Usage)
			require.Equal(t, tc.warnings, len(h.o.Diagnostics)+len(h.sink.Warnings()))
			if len(tc.messages) > 0 {
				require.Equal(t, tc.messages, h.sink.Messages())
			} else {
				require.Empty(t, h.sink.Messages())
			}
			if tc.session != "" {
				require.Equal(t, `"`+tc.session+`"`, string(h.sink.Last().Data), "told early")
				require.Equal(t, h.sink.Last(), h.o.Session)
			}
		})
	}
}

// Invalid rules are refused.
func TestRulesAreChecked(t *testing.T) {
	for _, r := range []Rule{
		{Do: "dance"}, {Do: Message}, {Do: Complete, Code: fsm.CodeEngineFailed}, {Do: Message, Path: "text",
			Add: true},
		{Do: Message, Path: "text", Like: map[string]*regexp.Regexp{"text": nil}},
	} {
		require.Error(t, r.check())
	}
}

// H4: an agent cannot add a flag to its next command line by a session id that looks like one.
func TestSessionIDThatLooksLikeAFlagIsRefused(t *testing.T) {
	rules := []Rule{{Do: Session, Path: "id"}, {Do: Final, Path: "text"}}
	for _, id := range []string{"--dangerously-skip-permissions", "-x", `a\nb`, `a\u0000b`, strings.Repeat("x",
		maxSession+1)} {
		h := hear(t, Config{Rules: rules}, `{"id":"`+id+`","text":"hi"}`+"\n")
		require.Nil(t, h.sink.Last())
		require.Nil(t, h.o.Session)
		require.Len(t, h.o.Diagnostics, 1)
		require.Equal(t, "hi", h.o.FinalText)
	}
}

// I11: texts and structured output are bounded, with a diagnostic.
func TestTooLongOutputIsCut(t *testing.T) {
	cfg := Config{MaxOutput: 10, Rules: []Rule{{Do: Final, Path: "final"}, {Do: Delta, Path: "delta"},
		{Do: Output, Path: "out"}}}
	h := hear(t, cfg, `{"final":"123456789é"}`)
	require.Equal(t, "123456789", h.o.FinalText, "no character is split")
	require.Equal(t, fsm.WarnEngineOutputTruncated, h.o.Diagnostics[0].Code)

	h = hear(t, cfg, `{"delta":"12345678"}`+"\n"+`{"delta":"12345678"}`)
	require.Equal(t, "1234567812", h.o.FinalText)
	require.Equal(t, fsm.WarnEngineOutputTruncated, h.o.Diagnostics[0].Code)

	h = hear(t, cfg, `{"out":{"a":"123456789"}}`)
	require.Nil(t, h.o.Output)
	require.Equal(t, fsm.WarnEngineOutputTruncated, h.o.Diagnostics[0].Code)
}

// I11: plain text is the final text.
func TestPlainTextIsTheFinalText(t *testing.T) {
	h := hear(t, Config{Format: Text}, "one\ntwo\r\nthree")
	require.Equal(t, "one\ntwo\nthree\n", h.o.FinalText)
	h = hear(t, Config{Format: Text, MaxLine: 4}, "123é567\nnext\n")
	require.Equal(t, "123\nnext\n", h.o.FinalText, "a character that the cut splits is taken off")
	require.Equal(t, []interaction.Diagnostic{{Code: fsm.WarnEngineOutputTruncated,
		Detail: "a line of 9 bytes was cut at 4"}}, h.o.Diagnostics)
	h = hear(t, Config{Format: Text, MaxOutput: 6}, "123\n567\n9\n")
	require.Equal(t, "123\n56", h.o.FinalText)
}

// I11: a turn's diagnostics are bounded; the last says that there were more.
func TestDiagnosticsAreBounded(t *testing.T) {
	h := hear(t, Config{Rules: []Rule{{Do: Final, Path: "x"}}}, strings.Repeat("oops\n", 1000)+`{"x":1} {"x":2}`+"\n"+
		`{"x":"y"}`)
	require.Len(t, h.o.Diagnostics, process.MaxDiagnostics+1)
	require.Contains(t, h.o.Diagnostics[process.MaxDiagnostics].Detail, "981 more")
	require.Equal(t, "y", h.o.FinalText)
}

func FuzzRules(f *testing.F) {
	f.Add("type", "a.b.*.c", `{"type":"x","a":{"b":[{"c":"y"},{"c":2}]}}`)
	f.Add("a.0.b?", "a.-1", `{"a":[{"b":null}],"c":[[[]]]}`)
	f.Add("", "", "{\"a\":\"\xff\\ud800\"}\n[]\nnull\n{}{}\n{\"\":{\"\":1e999}}")
	f.Add("*", "*.*", `[{"*":1}]`)
	f.Fuzz(func(t *testing.T, match, path, output string) {
		cfg := Config{MaxLine: 1 << 10, MaxOutput: 100}
		for _, do := range []Action{Session, Message, Delta, Final, Output, Warning, InputTokens, OutputTokens,
			CostUSD} {
			if path != "" {
				cfg.Rules = append(cfg.Rules, Rule{Match: map[string]string{match: "x"}, Do: do, Path: path},
					Rule{Do: do, Path: path})
			}
		}
		cfg.Rules = append(cfg.Rules, Rule{Match: map[string]string{match + "?": ""}, Do: Break})
		h := hear(t, cfg, output)
		for _, text := range append(h.sink.Messages(), h.o.FinalText) {
			require.LessOrEqual(t, len(text), cfg.MaxOutput)
			require.Equal(t, strings.ToValidUTF8(text, ""), text)
		}
		require.LessOrEqual(t, len(h.o.Output), cfg.MaxOutput)
		require.LessOrEqual(t, len(h.o.Diagnostics), process.MaxDiagnostics+1)
	})
}

// J2: an agent's failure text, found by a rule, decides whether the failure is transient.
func TestOverloadedModelIsAPassingFailure(t *testing.T) {
	cfg := Config{Rules: []Rule{{Do: Failure, Path: "error"}, {Do: Final, Path: "text"}}}
	for text, passing := range map[string]bool{
		"API Error: 529 Overloaded": true, "Invalid API key": false,
	} {
		h := hear(t, cfg, `{"error":"`+text+`"}`)
		require.Equal(t, fsm.CodeEngineFailed, h.o.Process.Code)
		require.Equal(t, passing, h.o.Process.Transient, text)
	}
	require.False(t, hear(t, cfg, `{"text":"The server said 429 Too Many Requests"}`).o.Process.Transient)
}
