package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Texts that agents add in the user's name are separated from the user's own, however similar.
func TestUserTextIsSeparatedFromAgentText(t *testing.T) {
	for text, want := range map[string]bool{
		"<environment_context>\n  <cwd>/x</cwd>\n</environment_context>": true,
		"<a>1</a>\n<b c=\"d\">2</b>":                                     true,
		"<system-reminder>one":                                           false,
		"<b>bold</b> words":                                              false,
		"<task>do it\n:: final ok\n</task>":                              false,
		"a plain text":                                                   false,
		"This is the Qwen Code. We are setting up the context for our chat.\nToday is":  true,
		"# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>": true,
		"[Request interrupted by user]":          true,
		"Continue from where you left off.":      true,
		"Continue from where you left off. Now.": false,
	} {
		require.Equal(t, want, isAgentText(text), text)
	}
}

func TestQuotedPromptIsUnwrapped(t *testing.T) {
	for text, want := range map[string]string{
		"\"say \\\"hello\\\"\n:: final ok\n\"": "say \"hello\"\n:: final ok\n",
		`"one" and "two"`:                      `"one" and "two"`,
		`"`:                                    `"`,
		`"plain"`:                              "plain",
		"plain":                                "plain",
	} {
		require.Equal(t, want, unquoted(text))
	}
}

func TestToolCallFitsTheToolsOfTheAgent(t *testing.T) {
	offers := func(tools ...Tool) Conversation { return Conversation{Tools: tools} }
	for _, c := range []struct {
		tool Tool
		want map[string]any
	}{
		{Tool{Name: "exec_command", Params: []string{"cmd", "workdir"}}, map[string]any{"cmd": "ls"}},
		{Tool{Name: "shell", Params: []string{"command"}}, map[string]any{"command": []string{"bash", "-lc", "ls"}}},
		{Tool{Name: "Bash", Params: []string{"command", "description"}}, map[string]any{"command": "ls",
			"description": "run it"}},
		{Tool{Name: "run_shell_command", Params: []string{"command", "is_background"}}, map[string]any{"command": "ls",
			"is_background": false}},
	} {
		require.Equal(t, c.want, offers(c.tool).Shell("ls").Args)
	}
	require.Nil(t, offers(Tool{Name: "view_image"}).Shell("ls"))
	require.Equal(t, map[string]any{"filePath": "/x", "content": "y"},
		offers(Tool{Name: "write", Params: []string{"content", "filePath"}}).Write("/x", "y").Args)
	require.Equal(t, "TaskList", offers(Tool{Name: "Bash"}, Tool{Name: "TaskList"}).Nothing().Tool.Name)
	require.Nil(t, offers().Nothing())
}
