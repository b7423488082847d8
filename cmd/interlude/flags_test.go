package main

import (
	"flag"
	"io"
	"os"
	"os/user"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// L1: docs/cli.md lists exactly the existing verbs, and the flags of each verb with their defaults.
func TestL1TheDocumentListsTheVerbsAndTheirFlags(t *testing.T) {
	doc, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	var want, names []string
	for _, v := range program.Verbs {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		v.Prepare(flags)
		if row := flagRow(t, v.Name, flags); row != "" {
			want = append(want, row)
		}
		if v.Name != "version" { // every program has it
			names = append(names, v.Name)
		}
	}
	require.Equal(t, want, tableRows(t, string(doc), "Flags"), "want these rows in docs/cli.md")
	var listed []string
	name := regexp.MustCompile("`([a-z]+)(?: [^`]*)?`")
	for _, row := range tableRows(t, string(doc), "Verbs") {
		for _, found := range name.FindAllStringSubmatch(strings.Split(row, "|")[1], -1) {
			listed = append(listed, found[1])
		}
	}
	require.Equal(t, slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(listed)))
}

// flagRow is the row of a verb: each flag with its default, unless that is empty, false or zero. A
// verb without flags has no row.
func flagRow(t *testing.T, verb string, flags *flag.FlagSet) string {
	t.Helper()
	self, err := user.Current()
	require.NoError(t, err)
	var names []string
	flags.VisitAll(func(f *flag.Flag) {
		name := "-" + f.Name
		switch f.DefValue {
		case "", "false", "0", "0s":
		case self.Username:
			name += "=$USER"
		default:
			name += "=" + f.DefValue
		}
		names = append(names, "`"+name+"`")
	})
	if len(names) == 0 {
		return ""
	}
	return "| `" + verb + "` | " + strings.Join(names, ", ") + " |"
}

// tableRows returns the rows of the table in a section.
func tableRows(t *testing.T, doc, section string) (rows []string) {
	t.Helper()
	_, rest, found := strings.Cut(doc, "\n## "+section+"\n")
	require.True(t, found, "the page has no section %s", section)
	rest, _, _ = strings.Cut(rest, "\n## ")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, strings.TrimSuffix(line, "\n"))
		}
	}
	return rows
}
