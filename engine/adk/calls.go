package adk

import (
	"fmt"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/plugin"
)

// withOwnIDs adds a plugin, before the host's, that gives each call in a model's answer a unique
// id. ADK finds an approved call by its id: with equal ids, either approval would execute the same
// call.
func withOwnIDs(plugins []*plugin.Plugin) ([]*plugin.Plugin, error) {
	ownIDs, err := plugin.New(plugin.Config{
		Name: "interlude_call_ids",
		AfterModelCallback: llmagent.AfterModelCallback(func(_ agent.Context, r *model.LLMResponse,
			err error) (*model.LLMResponse, error) {
			if err == nil && r != nil {
				clearRepeatedIDs(r.Content)
			}
			return nil, nil //nolint:nilnil // the answer stays the model's
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("adk: %w", err)
	}
	return append([]*plugin.Plugin{ownIDs}, plugins...), nil
}

// clearRepeatedIDs clears the id of each call that has the id of an earlier one. ADK gives it a new
// one.
func clearRepeatedIDs(c *genai.Content) {
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
		part, call := *part, *part.FunctionCall // copies, since the model may still use its answer
		call.ID = ""
		part.FunctionCall = &call
		c.Parts[i] = &part
	}
}
