package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// exact decodes arguments. Integers become int64, and other numbers float64. A number that these
// cannot hold is an error: a rule would judge another number than the one that is executed.
func exact(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil //nolint:nilnil // no arguments
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	return withNumbers(v)
}

// withNumbers replaces the numbers of a decoded value, which it changes.
func withNumbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		return number(v.String())
	case map[string]any:
		for k, e := range v {
			if v[k], err = withNumbers(e); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, e := range v {
			if v[i], err = withNumbers(e); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// longestNumber is the length of the longest number that a rule judges, in bytes.
const longestNumber = 64

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || len(text) > longestNumber || f == 0 && strings.ContainsAny(text, "123456789") {
		return nil, fmt.Errorf("the number %.80s in the arguments cannot be judged exactly", text)
	}
	shortest := strconv.FormatFloat(f, 'g', -1, 64)
	is, _ := new(big.Rat).SetString(text)
	near, _ := new(big.Rat).SetString(shortest)
	if is == nil || near == nil || is.Cmp(near) != 0 {
		return nil, fmt.Errorf("the number %.80s in the arguments cannot be judged exactly, only as %s", text, shortest)
	}
	return f, nil
}
