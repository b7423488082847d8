package people_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/people"
)

const two = `people:
  - id: ann
    name: Ann Lee
    groups: [finance]
    addresses: {mail: ann@example.com}
    deputies:
      - {id: bob, from: 2026-12-01, until: 2026-12-14}
      - {id: carl, from: 2026-12-10T12:00:00+01:00}
  - {id: bob, name: Bob Ann}
`

var _ people.Directory = (*people.File)(nil)

func write(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	require.NoError(t, os.Chtimes(name, at, at))
}

// N10: a file says who answers for whom, and when; the last day is included.
func TestN10DeputiesOfAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.yaml")
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	write(t, name, two, now)
	var said bytes.Buffer
	f, err := people.Open(name, slog.New(slog.NewTextHandler(&said, nil)))
	require.NoError(t, err)
	first := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		first.Add(-1): "", first: "bob", first.AddDate(0, 0, 9).Add(11 * time.Hour): "bob carl",
		first.AddDate(0, 0, 14).Add(-1): "bob carl", first.AddDate(0, 0, 14): "carl",
	} {
		all, err := f.Deputies(t.Context(), "ann", at)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(all, " "), at)
	}
	of, err := f.Principals(t.Context(), "bob", first)
	require.NoError(t, err)
	require.Equal(t, []interaction.Principal{{ID: "ann", Groups: []string{"finance"}, From: first,
		Until: first.AddDate(0, 0, 14)}}, of)
	for _, none := range []string{"ann", "eve"} {
		of, err = f.Principals(t.Context(), none, first)
		require.NoError(t, err)
		require.Empty(t, of)
	}
	p, err := f.Person(t.Context(), "ann")
	require.NoError(t, err)
	require.Equal(t, "ann@example.com", p.Addresses["mail"])
	_, err = f.Person(t.Context(), "eve")
	require.ErrorIs(t, err, people.ErrUnknown)
	for prefix, want := range map[string]int{"": 2, "ANN": 2, "b": 1, "bob a": 1, "x": 0} {
		all, err := f.People(t.Context(), prefix, "", 10)
		require.NoError(t, err)
		require.Len(t, all, want, prefix)
	}
	page, err := f.People(t.Context(), "", "ann", 1)
	require.NoError(t, err)
	require.Equal(t, "bob", page[0].ID)

	// A changed file counts at once; with an error the previous content stays in use.
	write(t, name, "people: [{id: ann, deputies: [{id: eve}]}]", now.Add(time.Second))
	all, _ := f.Deputies(t.Context(), "ann", first)
	require.Equal(t, []string{"eve"}, all)
	write(t, name, "people: [{id: ann, deputy: bob}]", now.Add(2*time.Second))
	for range 2 {
		all, _ = f.Deputies(t.Context(), "ann", first)
		require.Equal(t, []string{"eve"}, all)
	}
	require.Equal(t, 1, strings.Count(said.String(), "previous content stays in use"))
}

// N10: a wrong file is refused, with the person and the field.
func TestN10AWrongFileIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.json")
	for text, want := range map[string]string{
		`{"people":[{"id":"a","x":1}]}`:                                                            "field x not found",
		`{"people":[{"name":"a"}]}`:                                                                "people[0] has no id",
		`{"people":[{"id":"a"},{"id":"a"}]}`:                                                       `person "a" is there twice`,
		`{"people":[{"id":"a","deputies":[{"id":"a"}]}]}`:                                          "want another person",
		`{"people":[{"id":"a","deputies":[{"id":"b","from":"soon"}]}]}`:                            `from is "soon"`,
		`{"people":[{"id":"a","deputies":[{"id":"b","from":"2026-12-02","until":"2026-12-01"}]}]}`: "until is not after from",
		`{"people":[{"id":"a","groups":[""]}]}`:                                                    "Groups",
		`{`:                                                                                        "line",
	} {
		write(t, name, text, time.Now())
		_, err := people.Open(name, nil)
		require.ErrorContains(t, err, want, text)
		require.ErrorContains(t, err, "people.json")
	}
	_, err := people.Open(filepath.Join(t.TempDir(), "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// N10: the answer about one deputy does not cost more in a large directory.
func TestN10ADeputyOfALargeDirectory(t *testing.T) {
	all := []byte("people:\n- {id: p, deputies: [{id: d, until: 2026-01-01}, {id: d, from: 2026-12-01}]}\n")
	for i := range 20_000 {
		all = fmt.Appendf(all, "- {id: p%d, deputies: [{id: d%d}]}\n", i, i)
	}
	name := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(name, all, 0o600))
	f, err := people.Open(name, nil)
	require.NoError(t, err)
	at := time.Date(2026, 12, 2, 0, 0, 0, 0, time.UTC)
	of, err := f.Principals(t.Context(), "d", at)
	require.NoError(t, err)
	require.Len(t, of, 1)
	require.Less(t, testing.AllocsPerRun(10, func() { _, _ = f.Principals(t.Context(), "d7", at) }), 100.0)
}

// N10: the people who are asked, each followed by the deputies at that time who may answer, once.
func TestN10WhoIsAsked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(name, []byte(`people:
  - {id: ann, groups: [finance], deputies: [{id: bob}, {id: dan, until: 2026-11-01}, {id: gone}]}
  - {id: bob, groups: [finance]}
  - {id: carl, groups: [sales], deputies: [{id: ann}]}
  - {id: dan, groups: [hr], deputies: [{id: eve}]}
  - {id: eve}
`), 0o600))
	f, err := people.Open(name, nil)
	require.NoError(t, err)
	at := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	for want, to := range map[string]*interaction.Audience{
		"":                     nil,
		"ann bob":              {Groups: []string{"finance"}},
		"bob":                  {Groups: []string{"finance"}, Except: []string{"ann"}},
		"ann":                  {Groups: []string{"finance"}, Except: []string{"bob"}}, // not through a deputy either
		"carl ann":             {Users: []string{"carl"}},
		"dan eve":              {Groups: []string{"hr"}},
		"eve":                  {Users: []string{"eve", "nobody"}},
		"carl ann bob dan eve": {Groups: []string{"hr", "sales"}, Users: []string{"bob"}},
	} {
		var all []string
		for p, err := range people.Asked(t.Context(), f, to, at) {
			require.NoError(t, err)
			all = append(all, p.ID)
		}
		require.ElementsMatch(t, strings.Fields(want), all)
	}
	for p, err := range people.Asked(t.Context(), f, &interaction.Audience{Groups: []string{"finance"}}, at) {
		require.NoError(t, err)
		require.Equal(t, "ann", p.ID)
		break
	}
}

// N7: a picker finds people by the beginning of their ID or of a word of their name, and groups by the
// beginning of a word, within a limit.
func TestN7NamesOfADirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "people.yaml")
	write(t, name, "people:\n  - {id: ann, name: Ann Lee, groups: [tax office, finance]}\n"+
		"  - {id: lea, groups: [finance]}\n  - {id: bob, name: Bob Cole}\n", time.Now())
	f, err := people.Open(name, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	for prefix, want := range map[string]string{
		"le": "ann lea", "ann": "ann", "L": "ann lea", "ole": "", "": "ann bob",
	} {
		found, err := f.People(t.Context(), prefix, "", 2)
		require.NoError(t, err)
		ids := make([]string, len(found))
		for i, p := range found {
			ids[i] = p.ID
		}
		require.Equal(t, want, strings.Join(ids, " "), prefix)
	}
	for prefix, want := range map[string][]string{"OFF": {"tax office"}, "f": {"finance"}, "ice": nil,
		"": {"finance", "tax office"}} {
		groups, err := f.Groups(t.Context(), prefix, 2)
		require.NoError(t, err)
		require.Equal(t, want, groups, prefix)
	}
	one, err := f.Groups(t.Context(), "", 1)
	require.NoError(t, err)
	require.Equal(t, []string{"finance"}, one)
}
