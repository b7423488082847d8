package lifecycle

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wrongSpec is a field that is made wrong, and what Validate says of it behind the field's name; a
// cause may follow.
type wrongSpec struct {
	field  string
	change func(*Spec)
	says   string
}

// wrongSpecs are in the order in which Validate looks.
var wrongSpecs = []wrongSpec{
	{"ID", func(s *Spec) {
		s.ID = "../up"
	}, `is "../up", want 1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit, and not with "child-", which begins the ids of children`},
	{"ID", func(s *Spec) {
		s.ID = "a/b"
	}, `is "a/b", want 1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit, and not with "child-", which begins the ids of children`},
	{"ID", func(s *Spec) {
		s.ID = strings.Repeat("x", 129)
	}, `is "` + strings.Repeat("x", 80) + `…", want 1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit, and not with "child-", which begins the ids of children`},
	{"ID", func(s *Spec) {
		s.ID = strings.Repeat("!", 80)
	}, `is "` + strings.Repeat("!", 80) + `", want 1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit, and not with "child-", which begins the ids of children`},
	{"ID", func(s *Spec) {
		s.ID = "child-x" // anyone can compute a child's id, and could occupy it
	}, `is "child-x", want 1 to 128 of [A-Za-z0-9._-], beginning with a letter or digit, and not with "child-", which begins the ids of children`},
	{"Prompt", func(s *Spec) { s.Prompt, s.Input = "", nil }, "is 0 bytes, want 1 to 1048576 bytes"},
	{"Prompt", func(s *Spec) {
		s.Prompt = strings.Repeat("x", MaxPrompt+1)
	}, "is 1048577 bytes, want 1 to 1048576 bytes"},
	{"Prompt", func(s *Spec) { s.Prompt = "\xff" }, "is not UTF-8, want valid UTF-8"},
	{"Input", func(s *Spec) { s.Input = []byte(`{"a":[1e400]}`) }, "is a number out of bounds, want numbers within " +
		"the range of a float64: schema: number is out of bounds: 1e400 is above the range of a float64"},
	{"Input", func(s *Spec) { s.Input = []byte("{") }, "is 1 bytes, want one JSON value of at most 1048576 bytes"},
	{"Input", func(s *Spec) {
		s.Input = []byte(`"` + strings.Repeat("x", MaxPrompt) + `"`)
	}, "is 1048578 bytes, want one JSON value of at most 1048576 bytes"},
	{"Mode", func(s *Spec) { s.Mode = "manual" }, `is "manual", want "auto" or "interactive"`},
	{"Engine", func(s *Spec) { s.Engine = "a b" }, `is "a b", want 1 to 63 of [A-Za-z0-9._/-]`},
	{"MaxAttempts", func(s *Spec) {
		s.MaxAttempts = -1
	}, "is -1, want an integer of at least 1, or 0 for not declared"},
	{"MaxQuestions", func(s *Spec) { s.MaxQuestions = -1 }, "is -1, want 0 to 32"},
	{"MaxQuestions", func(s *Spec) { s.MaxQuestions = 33 }, "is 33, want 0 to 32"},
	{"SessionTimeout", func(s *Spec) { s.SessionTimeout = -time.Second }, "is -1s, want whole seconds, at least 1s"},
	{"SessionTimeout", func(s *Spec) {
		s.SessionTimeout = time.Millisecond
	}, "is 1ms, want whole seconds, at least 1s"},
	{"SessionTimeout", func(s *Spec) {
		s.SessionTimeout = 1500 * time.Millisecond
	}, "is 1.5s, want whole seconds, at least 1s"},
	{"MaxAutoDecisions", func(s *Spec) { s.MaxAutoDecisions = -2 }, "is -2, want an integer of at least 0"},
	{"OnInterrupt", func(s *Spec) { s.OnInterrupt = "never" },
		`is "never", want "fail", "repeat" or "ask", and nothing but "repeat" in a run that is Repeatable`},
	{"OnInterrupt", func(s *Spec) { s.Repeatable, s.OnInterrupt = true, Ask },
		`is "ask", want "fail", "repeat" or "ask", and nothing but "repeat" in a run that is Repeatable`},
	{"Hold", func(s *Spec) { s.Hold = "yes" }, `is "yes", want "on" or "off"`},
	{"MaxRepeats", func(s *Spec) { s.MaxRepeats = -1 }, "is -1, want an integer of at least 1, or 0 for the default"},
	{"TurnTimeout", func(s *Spec) { s.TurnTimeout = -1 }, "is -1ns, want 0 or more"},
	{"RepairRounds", func(s *Spec) { s.RepairRounds = -1 }, "is -1, want 0 to 10"},
	{"RepairRounds", func(s *Spec) { s.RepairRounds = 11 }, "is 11, want 0 to 10"},
	{"Pool", func(s *Spec) { s.Pool = "a pool" }, `is "a pool", want 1 to 63 of [A-Za-z0-9._/-]`},
	{"Key", func(s *Spec) { s.Key = strings.Repeat("k", 256) }, "is 256 bytes, want at most 255 bytes of UTF-8"},
	{"Key", func(s *Spec) { s.Key = "a\xff" }, "is 2 bytes, want at most 255 bytes of UTF-8"},
	{"Priority", func(s *Spec) { s.Priority = 1001 }, "is 1001, want -1000 to 1000"},
	{"Priority", func(s *Spec) { s.Priority = -1001 }, "is -1001, want -1000 to 1000"},
	{"NotBefore", func(s *Spec) {
		s.NotBefore = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	}, "is in the year 10000, want a year of 0 to 9999"},
	{"NotBefore", func(s *Spec) {
		s.NotBefore = time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 60))
	}, "is in the year -1, want a year of 0 to 9999"},
	{"Labels", func(s *Spec) { s.Labels = numbered(33) }, "is 33 entries, want at most 32"},
	{"Meta", func(s *Spec) { s.Meta = numbered(17) }, "is 17 entries, want at most 16"},
	{"Title", func(s *Spec) { s.Title = "a\x00" }, `is "a\x00", want at most 255 bytes of UTF-8 without NUL`},
	{"Title", func(s *Spec) { s.Title = "\xff" }, `is "\xff", want at most 255 bytes of UTF-8 without NUL`},
	{"WorkDir", func(s *Spec) { s.WorkDir = strings.Repeat("/x", 3000) }, "is 6000 bytes, want at most 4096 bytes"},
	{"WorkDir", func(s *Spec) { s.WorkDir = "/a\xff" }, `is "/a\xff", want valid UTF-8 without NUL`},
	{"WorkDir", func(s *Spec) { s.WorkDir = "/a\x00" }, `is "/a\x00", want valid UTF-8 without NUL`},
	{"WorkDir", func(s *Spec) { s.WorkDir = "\x00a" }, `is "\x00a", want valid UTF-8 without NUL`},
	{"Retry", func(s *Spec) { s.Retry = &Retry{Max: -1} }, "is with Max -1, want an integer of at least 0"},
	{"Retry", func(s *Spec) {
		s.Retry = &Retry{Jitter: -1}
	}, "is with a pause of -1ns, want 0s to 720h0m0s"},
	{"Retry", func(s *Spec) {
		s.Retry = &Retry{Backoff: MaxRetryPause + 1}
	}, "is with a pause of 720h0m0.000000001s, want 0s to 720h0m0s"},
	{"Budget", func(s *Spec) { s.Budget.Turns = -1 }, "is with Turns -1, want 1 to 1000000, or 0 for no limit"},
	{"Budget", func(s *Spec) { s.Budget.Turns = MaxBudgetTurns + 1 },
		"is with Turns 1000001, want 1 to 1000000, or 0 for no limit"},
	{"Budget", func(s *Spec) { s.Budget.Tokens = -1 }, "is with Tokens -1, want 1 to 8796093022208, or 0 for no limit"},
	{"Budget", func(s *Spec) { s.Budget.Tokens = MaxBudgetTokens + 1 },
		"is with Tokens 8796093022209, want 1 to 8796093022208, or 0 for no limit"},
	{"Submitter", func(s *Spec) { s.Submitter = "a\xff" }, "is 2 bytes, want at most 255 bytes of UTF-8 without NUL"},
	{"Ask", func(s *Spec) { s.Ask = &AskPolicy{To: &Audience{Users: []string{""}}} },
		"is with a name of 0 bytes; 1 to 255 bytes of UTF-8 without NUL are allowed, want names that actors can have"},
	{"Ask", func(s *Spec) { s.Ask = &AskPolicy{To: &Audience{}} }, "is for nobody, want users, groups or Everybody"},
	{"Ask", func(s *Spec) { s.Ask, s.Submitter = &AskPolicy{NotSubmitter: true}, "" },
		"is with NotSubmitter, want a Submitter"},
	{"Labels", func(s *Spec) {
		s.Labels = map[string]string{"": "x"}
	}, `is "", want keys of 1 to 63 bytes and values of at most 255, valid UTF-8`},
	{"Labels", func(s *Spec) {
		s.Labels = map[string]string{strings.Repeat("k", 64): "x"}
	}, `is "` + strings.Repeat("k", 64) + `", want keys of 1 to 63 bytes and values of at most 255, valid UTF-8`},
	{"Labels", func(s *Spec) {
		s.Labels = map[string]string{"k": strings.Repeat("x", 256)}
	}, `is "k", want keys of 1 to 63 bytes and values of at most 255, valid UTF-8`},
	{"Labels", func(s *Spec) {
		s.Labels = map[string]string{"k\xff": "x"}
	}, `is "k\xff", want keys of 1 to 63 bytes and values of at most 255, valid UTF-8`},
	{"Labels", func(s *Spec) {
		s.Labels = map[string]string{"k": "\xff"}
	}, `is "k", want keys of 1 to 63 bytes and values of at most 255, valid UTF-8`},
	{"Meta", func(s *Spec) {
		s.Meta = map[string]string{"k": strings.Repeat("x", 1025)}
	}, `is "k", want keys of 1 to 63 bytes and values of at most 1024, valid UTF-8`},
	{"Meta", func(s *Spec) {
		s.Meta = map[string]string{strings.Repeat("k", 64): "x"}
	}, `is "` + strings.Repeat("k", 64) + `", want keys of 1 to 63 bytes and values of at most 1024, valid UTF-8`},
	{"Meta", func(s *Spec) {
		s.Meta = map[string]string{"": "x"}
	}, `is "", want keys of 1 to 63 bytes and values of at most 1024, valid UTF-8`},
	{"Meta", func(s *Spec) {
		s.Meta = map[string]string{"k": "\xff"}
	}, `is "k", want keys of 1 to 63 bytes and values of at most 1024, valid UTF-8`},
	{"OutputSchema", func(s *Spec) {
		s.OutputSchema = json.RawMessage(`{`)
	}, "is 1 bytes, want a JSON Schema that compiles"},
	{"OutputSchema", func(s *Spec) {
		s.OutputSchema = json.RawMessage(`{"type":"objekt"}`)
	}, "is 17 bytes, want a JSON Schema that compiles"},
}

func numbered(n int) map[string]string {
	labels := make(map[string]string, n)
	for i := range n {
		labels[fmt.Sprint(i)] = "x"
	}
	return labels
}

func TestValidateDescribesTheFault(t *testing.T) {
	for _, c := range wrongSpecs {
		s := whole()
		c.change(&s)
		err := s.Validate()
		var wrong *SpecError
		require.ErrorAs(t, err, &wrong, c.field)
		require.ErrorIs(t, err, ErrInvalidSpec)
		require.Equal(t, c.field, wrong.Field)
		text := "lifecycle: invalid spec: " + c.field + " " + c.says
		if c.field == "OutputSchema" {
			text += ": " + wrong.Err.Error()
		}
		require.EqualError(t, err, text)
	}
}

func TestValidateDescribesTheFirstFault(t *testing.T) {
	for i, c := range wrongSpecs {
		s := whole()
		for _, later := range slices.Backward(wrongSpecs[i:]) {
			later.change(&s)
		}
		var wrong *SpecError
		require.ErrorAs(t, s.Validate(), &wrong)
		require.Equal(t, c.field, wrong.Field)
	}
}

func TestValidateChecksEveryField(t *testing.T) {
	never := []string{"AutoDecide", "Repeatable"} // both values are right
	typ := reflect.TypeFor[Spec]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		checked := slices.ContainsFunc(wrongSpecs, func(c wrongSpec) bool { return c.field == name })
		require.NotEqual(t, slices.Contains(never, name), checked, "%s: say here in which ways it can be wrong", name)
	}
}

func TestValidateAcceptsAValidSpec(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"as it is":      func(*Spec) {},
		"only a prompt": func(s *Spec) { *s = Spec{Prompt: "x"} },
		"auto":          func(s *Spec) { s.Mode = Auto },
		"only an input": func(s *Spec) { *s = Spec{Input: []byte("null")} },
		"a long id":     func(s *Spec) { s.ID = strings.Repeat("x", 128) },
		"a long prompt": func(s *Spec) { s.Prompt = strings.Repeat("x", MaxPrompt) },
		"long names": func(s *Spec) {
			s.Engine, s.Pool = strings.Repeat("e", 63), strings.Repeat("p/", 31)
		},
		"a second": func(s *Spec) { s.SessionTimeout = time.Second },
		"a long wait": func(s *Spec) {
			s.SessionTimeout = time.Duration(math.MaxInt64).Truncate(time.Second)
		},
		"a long key": func(s *Spec) { s.Key = strings.Repeat("k", 255) },
		"low":        func(s *Spec) { s.Priority = -1000 },
		"high":       func(s *Spec) { s.Priority = 1000 },
		"as late as can be written": func(s *Spec) {
			s.NotBefore = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
		},
		"as early as can be written": func(s *Spec) { s.NotBefore = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC) },
		"many labels":                func(s *Spec) { s.Labels = numbered(MaxLabels) },
		"long labels": func(s *Spec) {
			s.Labels = map[string]string{strings.Repeat("k", 63): strings.Repeat("v", 255)}
		},
		"much meta": func(s *Spec) { s.Meta = numbered(MaxMeta) },
		"long meta": func(s *Spec) {
			s.Meta = map[string]string{strings.Repeat("k", 63): strings.Repeat("v", 1024)}
		},
		"a deep folder":    func(s *Spec) { s.WorkDir = strings.Repeat("/x", 2048) },
		"a boolean schema": func(s *Spec) { s.OutputSchema = json.RawMessage(`true`) },
		"a short prompt and a long schema": func(s *Spec) {
			s.Prompt, s.OutputSchema = "x", json.RawMessage(`{"title":"`+strings.Repeat("x", 5000)+`"}`)
		},
	} {
		s := whole()
		change(&s)
		require.NoError(t, s.Validate(), name)
		_, _, err := s.record(noon)
		require.NoError(t, err, name)
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	for _, c := range sizes {
		s := c.spec()
		require.NoError(t, s.Validate(), c.name) // compiles the schema
		require.Zero(t, testing.AllocsPerRun(1000, func() { _ = s.Validate() }), c.name)
	}
}

func TestPatternMatchesAsItsRegularExpression(t *testing.T) {
	for written, p := range map[string]pattern{
		`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`: idPattern,
		`^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$`: namePattern,
	} {
		want := regexp.MustCompile(written)
		for c := range 256 {
			for _, s := range []string{string([]byte{byte(c)}), "a" + string([]byte{byte(c)}), string(rune(c)),
				"a" + string(rune(c)) + "b"} {
				require.Equal(t, want.MatchString(s), p.matches(s), "%q", s)
			}
		}
		for n := range 140 {
			s := strings.Repeat("a", n)
			require.Equal(t, want.MatchString(s), p.matches(s), "%d bytes", n)
		}
		texts := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9._/-]{0,140}`), rapid.StringMatching(`[a-c]{1,3}\n?`),
			rapid.String())
		rapid.Check(t, func(t *rapid.T) {
			s := texts.Draw(t, "name")
			require.Equal(t, want.MatchString(s), p.matches(s), "%q", s)
		})
	}
}
