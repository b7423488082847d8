package agent

// question is one that the agent asks, in one of the forms that agents use, and its own choice when
// nobody answers.
type question struct{ text, own string }

var questions = []question{
	{own: "garden", text: `Let us begin with the place.

<ASK_USER_YAML>
ask_user:
  kind: choose_one
  prompt: Where shall the party be?
  options:
    - label: In the garden
      value: garden
    - label: On the roof
      value: roof
    - label: By the lake
      value: lake
  default_decision_policy: engine_judgement
</ASK_USER_YAML>
`},
	{own: "no", text: "{\"ask_user\": {\"kind\": \"confirm\", \"prompt\": \"Shall there be live music?\", " +
		"\"default_decision_policy\": \"safe_default\"}}"},
	{own: "12 guests on Saturday at six", text: "I need two facts.\n\n```ask_user\nkind: fill_fields\nprompt: How " +
		"many guests, and when?\nrequired_fields: [guests, date]\nui_hints: {layout: form}\n```\n"},
	{own: "lanterns", text: `Nearly done.

<ASK_USER_YAML>
kind: open_text
prompt: What must not be missing?
context: Anything from lemonade to lanterns.
</ASK_USER_YAML>
`},
	{own: "tent", text: "```json\n{\"ask_user\": {\"kind\": \"risk_ack\", \"prompt\": \"It may rain. Do you accept " +
		"that, or shall I rent a tent?\", \"options\": [{\"label\": \"I accept the risk\", \"value\": \"accept\"}, " +
		"{\"label\": \"Rent a tent\", \"value\": \"tent\"}], \"default_decision_policy\": \"safe_default\"}}\n```\n"},
}
