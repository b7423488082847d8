package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/internal/schema"
)

// N3: an enum and a const allow the values that the validator's own check allows, and are refused in its
// words.
func TestEnumsAllowWhatTheValidatorAllows(t *testing.T) {
	sample.Sequential(t)
	values := []string{`null`, `true`, `false`, `0`, `-0`, `0.0`, `1`, `1.0`, `10e-1`, `1e2`, `100`, `-1.50`, `-1.5`,
		`9007199254740993`, `9007199254740992`, `0.1`, `1e-1`, `""`, `"1"`, `"n"`, `"true"`, `[]`, `[1]`, `[1.0]`,
		`["1"]`, `[[]]`, `{}`, `{"a":1,"b":[2]}`, `{"b":[2.0],"a":1}`, `{"a":1}`, `["a","b"]`, `["as1:b"]`}
	schemas := []string{`{"const":%s}`, `{"enum":[%s]}`, `{"enum":[%s,"other"]}`, `{"enum":["other",%s,[3]]}`}
	for _, allowed := range values {
		for _, pattern := range schemas {
			text := fmt.Sprintf(pattern, allowed)
			ours, err := schema.Compile([]byte(text))
			require.NoError(t, err)
			theirs := jsonschema.MustCompileString("x.json", text)
			for _, value := range values {
				v, err := schema.Decode([]byte(value))
				require.NoError(t, err)
				wants := theirs.Validate(v)
				err = ours.Validate(v)
				require.Equal(t, wants == nil, err == nil, "%s of %s", value, text)
				var violation *jsonschema.ValidationError
				if errors.As(wants, &violation) {
					require.ErrorContains(t, err, ": "+violation.Causes[0].Message)
				}
			}
		}
	}
	s, err := schema.Compile([]byte(`{"enum":[1,"a"]}`))
	require.NoError(t, err)
	require.NoError(t, s.Validate(1))
	require.NoError(t, s.Validate(1.0))
	require.NoError(t, s.Validate(json.Number("1.00")))
	require.Error(t, s.Validate(2))
}

// J10 N2: a value with many items is checked against an enum of many numbers within moments, not within
// an hour: the validator itself compares each with each, as fractions.
func TestAnEnumOfManyNumbersIsCheckedAtOnce(t *testing.T) {
	sample.Sequential(t)
	numbers := make([]string, 20_000)
	for i := range numbers {
		numbers[i] = fmt.Sprint(10_000 + i)
	}
	list := "[" + strings.Join(numbers, ",") + "]"
	s, err := schema.Compile([]byte(`{"items":{"enum":` + list + `}}`))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.ValidateJSON([]byte(list)) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.FailNow(t, "the check takes too long")
	}
}

// J10 N2: a form with alternatives takes no value whose check would occupy a processor for minutes.
func TestAFormBoundsTheWorkOfOneValue(t *testing.T) {
	sample.Sequential(t)
	branches := make([]string, 900)
	for i := range branches {
		branches[i] = fmt.Sprintf(`{"const":%d}`, i)
	}
	s, err := schema.Compile([]byte(`{"items":{"anyOf":[` + strings.Join(branches, ",") + `]}}`))
	require.NoError(t, err)
	faults, err := s.Faults([]byte("[0" + strings.Repeat(",899", 16_000) + "]"))
	require.NoError(t, err)
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Want, "a value that takes at most 500000 checks")
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf(`"n%d"`, i)
	}
	lists, err := schema.Compile([]byte(`{"items":{"required":[` + strings.Join(names, ",") + `]}}`))
	require.NoError(t, err)
	faults, err = lists.Faults([]byte("[" + strings.Repeat("{},", 16_000) + "{}]"))
	require.NoError(t, err)
	require.Contains(t, faults[0].Want, "a value that takes at most 500000 checks")
	faults, err = s.Faults([]byte(`[899]`))
	require.NoError(t, err)
	require.Empty(t, faults)
}
