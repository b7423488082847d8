package adk

import (
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
)

// withOwnIDs adds a plugin, before the host's, that has each call of a model's answer have an id of
// its own. ADK finds what a person approved by the id of the call: of two calls with one id it
// would execute one, after either approval.
func withOwnIDs(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
	own, err := plugin.New(plugin.Config{
		Name: "interlude_call_ids",
		AfterModelCallback: llmagent.AfterModelCallback(func(_ agent.Context, r *model.LLMResponse,
			err error) (*model.LLMResponse, error) {
			if err == nil && r != nil {
				separate(r.Content)
			}
			return nil, nil //nolint:nilnil // the answer stays the model's
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("adk: %w", err)
	}
	return append([]*plugin.Plugin{own}, plugins...), nil
}

// separate takes the id of each call that has the id of one before it; ADK gives it another.
func separate(c *genai.Content) {
	if c == nil {
		return
	}
	seen := make(map[string]bool)
	for i, part := range c.Parts {
		if part == nil || part.FunctionCall == nil || part.FunctionCall.ID == "" {
			continue
		}
		if id := part.FunctionCall.ID; !seen[id] {
			seen[id] = true
			continue
		}
		again, call := *part, *part.FunctionCall // the model may keep what it answered
		call.ID = ""
		again.FunctionCall = &call
		c.Parts[i] = &again
	}
}
