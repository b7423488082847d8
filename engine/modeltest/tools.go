package modeltest

import "path/filepath"

// shells are the tools that run a command line, as agents name them.
var shells = []string{"shell_command", "exec_command", "shell", "local_shell", "Bash", "bash", "run_shell_command",
	"exec"}

// writers are the tools that write a file.
var writers = []string{"write_file", "Write", "write", "create_file"}

// quiet are calls that change nothing and need nobody's permission, with their arguments.
var quiet = []struct {
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

// Shell is a call of the agent's shell, nil when it offers none.
func (c Conversation) Shell(command string) *Call {
	t, ok := c.tool(shells)
	if !ok {
		return nil
	}
	args := map[string]any{}
	switch {
	case t.takes("cmd"):
		args["cmd"] = command
	case t.Name == "shell" || t.Name == "local_shell":
		args["command"] = []string{"bash", "-lc", command}
	default:
		args["command"] = command
	}
	if t.takes("description") {
		args["description"] = "run it"
	}
	if t.takes("is_background") {
		args["is_background"] = false
	}
	return &Call{Tool: t, Args: args, Text: command}
}

// Write is a call of the agent's tool that writes a file, nil when it offers none. The path is
// absolute.
func (c Conversation) Write(path, content string) *Call {
	t, ok := c.tool(writers)
	if !ok {
		return nil
	}
	args := map[string]any{"content": content}
	for _, name := range []string{"file_path", "filePath", "path"} {
		if t.takes(name) {
			args[name] = filepath.Clean(path)
			break
		}
	}
	return &Call{Tool: t, Args: args, Text: content}
}

// Nothing is a call that changes nothing and needs nobody's permission where that can be had, so
// that the agent comes back; nil when no such tool is offered.
func (c Conversation) Nothing() *Call {
	for _, q := range quiet {
		if t, ok := c.tool([]string{q.tool}); ok {
			return &Call{Tool: t, Args: q.args}
		}
	}
	return c.Shell("true")
}
