package modeltest

import "encoding/json"

// What every answer says that it cost, and every count of tokens.
const (
	inputTokens  = 11
	outputTokens = 7
)

// arguments are a call's arguments as a JSON text.
func arguments(call Call) string {
	body, err := json.Marshal(call.Args)
	if err != nil || call.Args == nil {
		return "{}"
	}
	return string(body)
}
