package modeltest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/engine/enginetest/script"
)

// agentPrefixes begin texts that agents add in the user's name without a tag.
var agentPrefixes = []string{
	"This is the Qwen Code. We are setting up the context for our chat.",
	"This is the Gemini CLI. We are setting up the context for our chat.",
	"# AGENTS.md instructions for ", // Codex
	"[Request interrupted by user",  // Claude Code, as the next two
	"(no content)",
	resumePrompt,
}

// resumePrompt is what Claude Code adds when it resumes an unfinished turn.
const resumePrompt = "Continue from where you left off."

var tag = regexp.MustCompile(`^<([A-Za-z][\w-]*)(?: [^<>]*)?>`)

// isAgentText reports whether the agent added the text in the user's name, so that it holds no
// step: it has a known prefix or consists of elements in tags such as <environment_context>.
func isAgentText(text string) bool {
	text = strings.TrimSpace(text)
	if len(script.Steps(text)) > 0 {
		return false
	}
	for _, o := range agentPrefixes {
		if strings.HasPrefix(text, o) {
			return o != resumePrompt || text == resumePrompt
		}
	}
	for text != "" {
		m := tag.FindStringSubmatch(text)
		if m == nil {
			return false
		}
		closing := "</" + m[1] + ">"
		end := strings.Index(text, closing)
		if end < 0 {
			return false
		}
		text = strings.TrimSpace(text[end+len(closing):])
	}
	return true
}

// unquoted removes opencode's quotation marks around a prompt, and its backslashes inside.
func unquoted(text string) string {
	t := strings.TrimSpace(text)
	if len(t) < 2 || t[0] != '"' || t[len(t)-1] != '"' {
		return text
	}
	inner := t[1 : len(t)-1]
	for i := range len(inner) {
		if inner[i] == '"' && (i == 0 || inner[i-1] != '\\') {
			return text // the user's own quotation marks
		}
	}
	return strings.ReplaceAll(inner, `\"`, `"`)
}

// shellTools run a command line, under each agent's name.
var shellTools = []string{"shell_command", "exec_command", "shell", "local_shell", "Bash", "bash", "run_shell_command",
	"exec"}

var writeTools = []string{"write_file", "Write", "write", "create_file"}

// harmless lists calls that change nothing and need no permission.
var harmless = []struct {
	tool string
	args map[string]any
}{
	{"TaskList", map[string]any{}},
	{"todowrite", map[string]any{"todos": []any{}}},
	{"glob", map[string]any{"pattern": "no-such-file"}},
	{"Glob", map[string]any{"pattern": "no-such-file"}},
}

func (c Conversation) tool(names []string) (Tool, bool) {
	for _, name := range names {
		for _, t := range c.Tools {
			if t.Name == name {
				return t, true
			}
		}
	}
	return Tool{}, false
}

// Shell returns a call of the agent's shell, nil if it has none.
func (c Conversation) Shell(command string) *Call {
	t, ok := c.tool(shellTools)
	if !ok {
		return nil
	}
	args := map[string]any{}
	switch {
	case t.hasParam("cmd"):
		args["cmd"] = command
	case t.Name == "shell" || t.Name == "local_shell":
		args["command"] = []string{"bash", "-lc", command}
	default:
		args["command"] = command
	}
	if t.hasParam("description") {
		args["description"] = "run it"
	}
	if t.hasParam("is_background") {
		args["is_background"] = false
	}
	return &Call{Tool: t, Args: args, Text: command}
}

// Write returns a call of the agent's tool that writes a file, nil if it has none. The path is
// absolute.
func (c Conversation) Write(path, content string) *Call {
	t, ok := c.tool(writeTools)
	if !ok {
		return nil
	}
	args := map[string]any{"content": content}
	for _, name := range []string{"file_path", "filePath", "path"} {
		if t.hasParam(name) {
			args[name] = filepath.Clean(path)
			break
		}
	}
	return &Call{Tool: t, Args: args, Text: content}
}

// Nothing returns a call that changes nothing, so that the agent asks the model again. It needs no
// permission, unless the agent has only a shell. It is nil if no tool fits.
func (c Conversation) Nothing() *Call {
	for _, q := range harmless {
		if t, ok := c.tool([]string{q.tool}); ok {
			return &Call{Tool: t, Args: q.args}
		}
	}
	return c.Shell("true")
}

var sideInstructions = regexp.MustCompile(
	`(?i)title generator|(generate|write|create)\b.{0,40}\btitle|conversation topic|summari[sz](e|ing) (the|this|our) (conversation|chat|session)`)

// backgroundInstructions match the instructions of an agent's background work, which offer tools,
// too.
var backgroundInstructions = regexp.MustCompile(`(?i)^\s*You are now acting as the managed memory`) // Qwen Code

// Side reports a side call: for a title, or to choose a model. It contains the user's text, but its
// steps must not run. Side calls offer no tools, except for known background work.
func (c Conversation) Side() bool {
	if backgroundInstructions.MatchString(c.System) {
		return true
	}
	if len(c.Tools) > 0 {
		return false
	}
	opening := c.System[:min(len(c.System), 2<<10)]
	users := c.Users()
	if len(users) > 0 {
		opening += "\n" + users[0][:min(len(users[0]), 200)]
	}
	return c.Schema != nil || sideInstructions.MatchString(opening)
}

// sideAnswer answers a side call with the smallest value of its schema, or a few words.
func (c Conversation) sideAnswer() Answer {
	if c.Schema == nil {
		return Text("A test")
	}
	schema, _ := decode(c.Schema)
	body, err := json.Marshal(smallest(schema, 0))
	if err != nil {
		return Text("{}")
	}
	return Text(string(body))
}

const maxNesting = 32

// smallest returns a value of the schema. It supports the simple schemas that agents use.
func smallest(schema value, depth int) any {
	if depth > maxNesting {
		return nil
	}
	if c := schema.at("const"); c.exists() {
		return c.any
	}
	if choices := schema.at("enum").list(); len(choices) > 0 {
		for _, c := range choices {
			if c.str() == "user" { // the agent asks who speaks next; any other choice calls the model again
				return c.any
			}
		}
		return choices[0].any
	}
	for _, of := range []string{"anyOf", "oneOf", "allOf"} {
		if choices := schema.at(of).list(); len(choices) > 0 {
			return smallest(choices[0], depth+1)
		}
	}
	kind := schema.at("type")
	if kinds := kind.list(); len(kinds) > 0 {
		kind = kinds[0]
	}
	switch strings.ToLower(kind.str()) {
	case "string":
		return "test"
	case "integer", "number":
		if least := schema.at("minimum"); least.exists() {
			return least.any
		}
		return 1
	case "boolean":
		return false
	case "array":
		if least, ok := schema.at("minItems").any.(json.Number); ok && least != "0" {
			return []any{smallest(schema.at("items"), depth+1)}
		}
		return []any{}
	case "null":
		return nil
	}
	object := map[string]any{}
	for _, name := range schema.at("required").list() {
		object[name.str()] = smallest(schema.at("properties", name.str()), depth+1)
	}
	return object
}
