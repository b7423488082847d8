package adk

import (
	"bytes"
	"encoding/json"
	"strconv"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/tool/toolconfirmation"
)

// decode reads JSON with numbers as written, so that a tool gets the shown arguments also after a
// restart.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(into)
}

// exactNumber converts each json.Number in a decoded value to a float64 or, if that is inexact, to
// an int64 or uint64, or keeps it.
func exactNumber(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, of := range v {
			v[name] = exactNumber(of)
		}
	case []any:
		for i, of := range v {
			v[i] = exactNumber(of)
		}
	case json.Number:
		return number(v)
	}
	return v
}

func exactMap(m map[string]any) map[string]any {
	for name, of := range m {
		m[name] = exactNumber(of)
	}
	return m
}

func number(n json.Number) any {
	signed, err := strconv.ParseInt(n.String(), 10, 64)
	if err == nil {
		if f := float64(signed); f < 1<<63 && int64(f) == signed {
			return f
		}
		return signed
	}
	if unsigned, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		if f := float64(unsigned); f < 1<<64 && uint64(f) == unsigned {
			return f
		}
		return unsigned
	}
	f, err := n.Float64()
	if err != nil {
		return n
	}
	if digits := bytes.TrimLeft([]byte(n), "-0."); len(digits) > 17 { // more than a float64 may have
		return n
	}
	return f
}

// numbers are the parts of a saved session with arbitrary JSON, decoded separately, since
// session.Event decodes every number as a float64.
type numbers struct {
	Open []struct {
		Args     map[string]any `json:"args"`
		Payload  any            `json:"payload"`
		Interim  map[string]any `json:"interim"`
		Response map[string]any `json:"response"`
	} `json:"open"`
	State  map[string]any `json:"state"`
	Events []struct {
		Content *struct {
			Parts []struct {
				FunctionCall *struct {
					Args map[string]any `json:"args"`
				} `json:"functionCall"` //nolint:tagliatelle // ADK's name
				FunctionResponse *struct {
					Response map[string]any `json:"response"`
				} `json:"functionResponse"` //nolint:tagliatelle // ADK's name
			} `json:"parts"`
		} `json:"content"`
		Actions struct {
			StateDelta map[string]any `json:"stateDelta"` //nolint:tagliatelle // ADK's name
		} `json:"actions"`
		Output any `json:"output"`
	} `json:"events"`
}

func (k *savedSession) restore(body []byte) error {
	var n numbers
	if err := decode(body, &n); err != nil {
		return err
	}
	for i, from := range n.Open {
		to := &k.Open[i]
		to.Args, to.Interim, to.Response = exactMap(from.Args), exactMap(from.Interim), exactMap(from.Response)
		to.Payload = exactNumber(from.Payload)
	}
	k.State = exactMap(n.State)
	for i, from := range n.Events {
		to := k.Events[i]
		if to == nil {
			continue
		}
		to.Actions.StateDelta, to.Output = exactMap(from.Actions.StateDelta), exactNumber(from.Output)
		if from.Content == nil {
			continue
		}
		for j, part := range from.Content.Parts {
			if part.FunctionCall != nil {
				call := to.Content.Parts[j].FunctionCall
				call.Args = exactMap(part.FunctionCall.Args)
				restoreOriginal(call)
			}
			if part.FunctionResponse != nil {
				to.Content.Parts[j].FunctionResponse.Response = exactMap(part.FunctionResponse.Response)
			}
		}
	}
	return nil
}

// restoreOriginal decodes a confirmation's call with exact numbers; ADK would convert the stored
// map's numbers to float64.
func restoreOriginal(call *genai.FunctionCall) {
	const key = "originalFunctionCall"
	wrapped, ok := call.Args[key].(map[string]any)
	if !ok || call.Name != toolconfirmation.FunctionCallName {
		return
	}
	var original genai.FunctionCall
	if err := convert(wrapped, &original); err != nil {
		return // ADK reports the fault
	}
	original.Args, _ = wrapped["args"].(map[string]any)
	call.Args[key] = &original
}
