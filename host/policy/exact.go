package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
)

// exact decodes arguments. Integers become int64, and other numbers float64. A number that these
// cannot hold is an error: the rule would judge a different number from the executed one.
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
		if err := distinct(v); err != nil {
			return nil, err
		}
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

// distinct returns an error if two members differ only in case: many decoders, Go's among them, do
// not distinguish these, so the tool could use the member that the rule has not judged.
func distinct(members map[string]any) error {
	folded := make(map[string]string, len(members))
	for name := range members {
		key := strings.Map(lowest, name)
		if other, ok := folded[key]; ok {
			return fmt.Errorf("the members %.80q and %.80q of the arguments differ only in case", min(name, other),
				max(name, other))
		}
		folded[key] = name
	}
	return nil
}

// lowest returns the smallest of the characters that differ from c only in case.
func lowest(c rune) rune {
	least := c
	for next := unicode.SimpleFold(c); next != c; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
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
