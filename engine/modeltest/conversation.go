package modeltest

import (
	"encoding/json"
	"strings"
)

// API is one of the protocols in which agents ask models.
type API string

// The protocols.
const (
	Responses API = "responses" // OpenAI: POST …/responses
	Chat      API = "chat"      // OpenAI: POST …/chat/completions
	Messages  API = "messages"  // Anthropic: POST …/messages
	Gemini    API = "gemini"    // Google: POST …/models/MODEL:generateContent and :streamGenerateContent
)

// Role is who speaks in a conversation.
type Role string

// The roles.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolCall   Role = "call"   // the assistant calls a tool
	ToolResult Role = "result" // what the tool said
)

// Message is one thing that was said in a conversation. What the agent itself puts in the user's
// mouth (its environment, reminders) is not among them.
type Message struct {
	Role Role
	Text string // for a ToolCall the tool's name
}

// Tool is a tool that the agent offers.
type Tool struct {
	Name string
	// Params are the names of its parameters.
	Params []string
	// Custom: it takes a plain text (OpenAI Responses).
	Custom bool
}

// takes reports whether the tool has the parameter.
func (t Tool) takes(param string) bool {
	for _, p := range t.Params {
		if p == param {
			return true
		}
	}
	return false
}

// Conversation is a request in the words that all protocols share.
type Conversation struct {
	API      API
	Model    string
	System   string // instructions
	Messages []Message
	Tools    []Tool
	Stream   bool
	// Schema is the JSON Schema that the answer must keep, nil when any text will do.
	Schema json.RawMessage
	// Asked is how often the server was asked the same before.
	Asked int

	usage bool // Chat: the stream ends with a count of tokens
}

// texts are what the role said, in order.
func (c Conversation) texts(role Role) []string {
	var all []string
	for _, m := range c.Messages {
		if m.Role == role {
			all = append(all, m.Text)
		}
	}
	return all
}

// Users returns all that the user said, in order.
func (c Conversation) Users() []string { return c.texts(User) }

// Said returns all that the assistant said, in order.
func (c Conversation) Said() []string { return c.texts(Assistant) }

// Last returns what the user said last.
func (c Conversation) Last() string {
	users := c.Users()
	if len(users) == 0 {
		return ""
	}
	return users[len(users)-1]
}

// Results returns what tools said since the user spoke last.
func (c Conversation) Results() []string {
	var all []string
	for _, m := range c.Messages {
		switch m.Role {
		case User:
			all = nil
		case ToolResult:
			all = append(all, m.Text)
		case Assistant, ToolCall:
		}
	}
	return all
}

// hear adds a text of the user, unless it is the agent's own.
func (c *Conversation) hear(text string) {
	if text = unwrapped(text); strings.TrimSpace(text) != "" && !agentsOwn(text) {
		c.Messages = append(c.Messages, Message{User, text})
	}
}

// add adds what another than the user said.
func (c *Conversation) add(role Role, text string) {
	if text != "" || role == ToolResult {
		c.Messages = append(c.Messages, Message{role, text})
	}
}
