package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/interlude-go/interlude/host/ui"
	"github.com/interlude-go/interlude/lifecycle"
)

// chatEntry is the agent that chat pages talk to.
type chatEntry struct {
	// Agent is one of Agents; empty: the default.
	Agent string `json:"agent"`
	Title string `json:"title"`
	// Ask is who may answer the questions, and for how long they wait.
	Ask *lifecycle.AskPolicy `json:"ask"`
}

func (h *hostFile) checkChat() error {
	if h.Chat == nil {
		return nil
	}
	if h.Chat.Agent != "" && h.Agents[h.Chat.Agent] == nil {
		return fmt.Errorf("chat.agent is %.80q, which is not in agents", h.Chat.Agent)
	}
	if err := checkAsk(h.Chat.Ask); err != nil {
		return fmt.Errorf("chat.ask: %w", err)
	}
	return nil
}

// newChats returns the server for chat pages; nil without a chat. A host without a file has its agent's.
func (h *hostFile) newChats(client *lifecycle.Client, log *slog.Logger) (*ui.Server, error) {
	chat := h.Chat
	if h.name == "" {
		chat = &chatEntry{Agent: h.Agent}
	}
	if chat == nil {
		return nil, nil //nolint:nilnil // no chat, no server
	}
	return ui.New(ui.Config{Client: client, Logger: log,
		Identify: func(r *http.Request) (lifecycle.Actor, error) { return h.identifyCaller(r, "") },
		Start: func(_ context.Context, _ lifecycle.Actor, m ui.Message) (lifecycle.Spec, error) {
			spec := lifecycle.Spec{Prompt: m.Text, Engine: chat.Agent, Title: chat.Title, Ask: chat.Ask}
			if h.SignIn != nil {
				return spec, h.SignIn.prepare(nil, &spec)
			}
			return spec, nil
		}})
}
