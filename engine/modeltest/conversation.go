package modeltest

import (
	"encoding/json"
	"strings"
)

// API is a protocol between agents and models.
type API string

// The protocols.
const (
	Responses API = "responses" // OpenAI: POST …/responses
	Chat      API = "chat"      // OpenAI: POST …/chat/completions
	Messages  API = "messages"  // Anthropic: POST …/messages
	Gemini    API = "gemini"    // Google: POST …/models/MODEL:generateContent and :streamGenerateContent
)

// Role is a speaker in a conversation.
type Role string

// The roles.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolCall   Role = "call" // the assistant calls a tool
	ToolResult Role = "result"
)

// Message is one text of a conversation. Texts that the agent adds in the user's name (environment,
// reminders) are left out.
type Message struct {
	Role Role
	Text string // for a ToolCall the tool's name
}

// Tool is a tool that the agent offers.
type Tool struct {
	Name string
	// Params are the names of its parameters.
	Params []string
	// Custom says that the tool takes a plain text (OpenAI Responses).
	Custom bool
}

func (t Tool) hasParam(param string) bool {
	for _, p := range t.Params {
		if p == param {
			return true
		}
	}
	return false
}

// Conversation is a request in terms common to all protocols.
type Conversation struct {
	API      API
	Model    string
	System   string // instructions
	Messages []Message
	Tools    []Tool
	Stream   bool
	// Schema is the JSON Schema of the answer, or nil.
	Schema json.RawMessage
	// Asked is the number of earlier identical requests.
	Asked int

	usage bool // Chat: the stream ends with a count of tokens
}

func (c Conversation) texts(role Role) []string {
	var all []string
	for _, m := range c.Messages {
		if m.Role == role {
			all = append(all, m.Text)
		}
	}
	return all
}

// Users returns the user's texts in order.
func (c Conversation) Users() []string { return c.texts(User) }

// Said returns the assistant's texts in order.
func (c Conversation) Said() []string { return c.texts(Assistant) }

// Last returns the user's last text.
func (c Conversation) Last() string {
	users := c.Users()
	if len(users) == 0 {
		return ""
	}
	return users[len(users)-1]
}

// Results returns the tool results since the user's last text.
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

// addUser adds a user's text, unless the agent added it in the user's name.
func (c *Conversation) addUser(text string) {
	if text = unquoted(text); strings.TrimSpace(text) != "" && !isAgentText(text) {
		c.Messages = append(c.Messages, Message{User, text})
	}
}

func (c *Conversation) add(role Role, text string) {
	if text != "" || role == ToolResult {
		c.Messages = append(c.Messages, Message{role, text})
	}
}
