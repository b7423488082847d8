package exec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// H4: full-auto flags are used in auto mode only, never in an interactive turn or its resume.
func TestFullAutoFlagsAreForAutoModeOnly(t *testing.T) {
	cfg, err := Config{
		Command: "agent", AutoArgs: []string{"--yolo", "--really"},
		Args: []string{"run", "{auto}", "{input}"}, ResumeArgs: []string{"resume", "{auto}", "{session}", "{input}"},
		Rules: []Rule{{Do: Final, Path: "x"}},
	}.checked()
	require.NoError(t, err)
	values := map[string]string{"{input}": "do {auto}", "{session}": "s"}
	require.Equal(t, []string{"run", "--yolo", "--really", "do {auto}"}, cfg.arguments(cfg.Args, values, fsm.ModeAuto))
	require.Equal(t, []string{"resume", "--yolo", "--really", "s", "do {auto}"}, cfg.arguments(cfg.ResumeArgs, values,
		fsm.ModeAuto))
	require.Equal(t, []string{"run", "do {auto}"}, cfg.arguments(cfg.Args, values, fsm.ModeInteractive))
	require.Equal(t, []string{"resume", "s", "do {auto}"}, cfg.arguments(cfg.ResumeArgs, values, fsm.ModeInteractive))
}

// A text is never read as a flag, split, or read as a template.
func TestPlaceholderValueIsNoFlagAndNoTemplate(t *testing.T) {
	for _, tc := range []struct {
		template []string
		want     []string
	}{
		{[]string{"{input}"}, []string{" --help {run} *"}},
		{[]string{"-p", "{input}"}, []string{"-p", " --help {run} *"}},
		{[]string{"--", "{input}"}, []string{"--", "--help {run} *"}},
		{[]string{"--prompt={input}"}, []string{"--prompt=--help {run} *"}},
		{[]string{"{run}:{input}", "{unknown"}, []string{"r1:--help {run} *", "{unknown"}},
	} {
		values := map[string]string{"{input}": "--help {run} *", "{run}": "r1"}
		require.Equal(t, tc.want, Config{}.arguments(tc.template, values, fsm.ModeInteractive))
	}
	require.Equal(t, []string{"a\uFFFDb"}, Config{}.arguments([]string{"{input}"},
		map[string]string{"{input}": "a\x00b"}, fsm.ModeAuto))
}

func TestNewSaysWhatIsWrongInItsConfig(t *testing.T) {
	good := func() Config {
		return Config{Command: "agent", Args: []string{"{input}"}, Rules: []Rule{{Do: Final, Path: "x"}}}
	}
	resident := func() Config {
		c := good()
		c.Resident, c.Stdin, c.StdinJSON = true, "{input}", true
		c.Rules = append(c.Rules, Rule{Do: TurnEnd})
		return c
	}
	_, err := good().checked()
	require.NoError(t, err)
	_, err = resident().checked()
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		cfg    Config
		change func(*Config)
		want   string
	}{
		"no command":          {good(), func(c *Config) { c.Command = "" }, "Command"},
		"no input":            {good(), func(c *Config) { c.Args = nil }, "Args or Stdin"},
		"unknown format":      {good(), func(c *Config) { c.Format = "xml" }, `Format is "xml"`},
		"unknown placeholder": {good(), func(c *Config) { c.ResumeArgs = []string{"{thread}"} }, "{thread}"},
		"unknown placeholder in env": {good(), func(c *Config) {
			c.Set = map[string]string{"A": "{house}"}
		}, "{house}"},
		"variable without name": {good(), func(c *Config) { c.Set = map[string]string{"": "x"} }, "Config.Set"},
		"variable of the library": {good(), func(c *Config) {
			c.Set = map[string]string{"INTERLUDE_TOKEN": "x"}
		}, "INTERLUDE_TOKEN"},
		"auto inside an argument": {good(), func(c *Config) { c.Args = []string{"x{auto}"} }, "{auto}"},
		"auto without a place":    {good(), func(c *Config) { c.AutoArgs = []string{"--yolo"} }, "AutoArgs"},
		"auto without a place on resume": {good(), func(c *Config) {
			c.AutoArgs, c.Args, c.ResumeArgs = []string{"--yolo"}, []string{"{auto}"}, []string{"{session}"}
		}, "ResumeArgs"},
		"unknown action":      {good(), func(c *Config) { c.Rules = []Rule{{Do: "shout"}} }, "Rules[0]"},
		"action without path": {good(), func(c *Config) { c.Rules = []Rule{{Do: Final}} }, "needs a Path"},
		"code without failure": {good(), func(c *Config) {
			c.Rules = []Rule{{Do: Final, Path: "x", Code: fsm.CodeEngineFailed}}
		}, "only for the action failure"},
		"JSON lines without rules": {good(), func(c *Config) { c.Rules = nil }, "Rules is empty"},
		"status that is none": {good(), func(c *Config) {
			c.ResumeFailedStatus = []int{0}
		}, "ResumeFailedStatus has 0"},
		"negative limit":           {good(), func(c *Config) { c.MaxLine = -1 }, "negative"},
		"negative time":            {good(), func(c *Config) { c.IdleLimit = -1 }, "negative"},
		"resident with resume":     {resident(), func(c *Config) { c.ResumeArgs = []string{"x"} }, "no ResumeArgs"},
		"resident with text":       {resident(), func(c *Config) { c.Format = Text }, "JSON lines"},
		"resident without end":     {resident(), func(c *Config) { c.Rules = c.Rules[:1] }, "TurnEnd"},
		"resident with raw inputs": {resident(), func(c *Config) { c.StdinJSON = false }, "StdinJSON"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.change(&tc.cfg)
			_, err := New(tc.cfg)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("{input} {session}", "{session}", "{input}")
	f.Add("--x={input}{input}", "-a\x00\n", "")
	f.Add("{{input}}", "{", "}")
	f.Fuzz(func(t *testing.T, template, input, session string) {
		values := map[string]string{"{input}": input, "{session}": session}
		want := strings.NewReplacer("{input}", input, "{session}", session).Replace(template)
		require.Equal(t, want, process.Expand(template, values), "each placeholder once, nothing else")
		args := Config{}.arguments([]string{template, "end"}, values, fsm.ModeInteractive)
		if template != autoArg {
			require.Len(t, args, 2, "a value never splits an argument")
			require.NotContains(t, args[0], "\x00")
			if !strings.HasPrefix(template, "-") {
				require.False(t, strings.HasPrefix(args[0], "-"))
			}
		}
	})
}
