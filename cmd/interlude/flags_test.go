package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
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

// recorder is a flag's value that records its settings.
type recorder struct{ got []string }

func (r *recorder) String() string { return "" }
func (r *recorder) Set(text string) error {
	r.got = append(r.got, text)
	return nil
}

// R2: each flag of each verb has an environment variable, and no two share one. A repeatable flag
// gets each line.
func TestR2EveryFlagHasAVariable(t *testing.T) {
	for _, v := range program.Verbs {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		v.Prepare(flags)
		recorders := make(map[string]*recorder)
		flags.VisitAll(func(f *flag.Flag) {
			variable := command.Variable(command.Prefix, f.Name)
			require.NotContains(t, recorders, variable, "%s -%s", v.Name, f.Name)
			require.NotEqual(t, hookSecret, variable, "another variable of the program")
			recorders[variable] = &recorder{}
			f.Value = recorders[variable]
			t.Setenv(variable, "a\nb\n")
		})
		set, err := command.FromEnvironment(flags, command.Prefix)
		require.NoError(t, err)
		require.Len(t, set, len(recorders))
		flags.VisitAll(func(f *flag.Flag) {
			want := []string{"a\nb\n"}
			if strings.Contains(f.Usage, "(repeatable)") {
				want = []string{"a", "b"}
			}
			require.Equal(t, want, recorders[command.Variable(command.Prefix, f.Name)].got, "%s -%s", v.Name, f.Name)
		})
	}
}

// R2: the command line has precedence over the environment, an empty variable counts as missing, and
// an invalid one is named.
func TestR2TheCommandLineHasPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	db := filepath.Join(t.TempDir(), "runs.db")
	require.Zero(t, called(t, "", "migrate", "-db", db).status)
	run := func(env ...string) said {
		cmd := calling(t, "stats", "-json=false")
		var out, side bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Env, env...), &out, &side
		_ = cmd.Run()
		return said{cmd.ProcessState.ExitCode(), out.String(), side.String()}
	}
	result := run("INTERLUDE_DB="+db, "INTERLUDE_JSON=true", "INTERLUDE_SCHEMA=")
	require.Zero(t, result.status, result.side)
	require.NotContains(t, result.out, "{")
	result = run("INTERLUDE_DB="+db, "INTERLUDE_SCHEMA=x")
	require.Equal(t, misused, result.status)
	require.Contains(t, result.side, "-schema is only for PostgreSQL")
	cmd := calling(t, "stats")
	cmd.Env = append(cmd.Env, "INTERLUDE_JSON=perhaps")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), `$INTERLUDE_JSON is "perhaps"`)
}

// R2: with the variable of the image, and only with it, the variables of hosting platforms set the
// database and the port. The program's own variables have precedence.
func TestR2PlatformsSetDatabaseAndPort(t *testing.T) {
	const platform, own = "PORT=80 DATABASE_URL=postgres://a/b ", "INTERLUDE_DB=runs.db INTERLUDE_LISTEN=127.0.0.1:81 "
	for name, c := range map[string]struct{ env, db, listen string }{
		"not asked for":  {platform, "", defaultListen},
		"asked for":      {platform + command.Platform + "=1", "postgres://a/b", "0.0.0.0:80"},
		"neither is set": {command.Platform + "=true", "", defaultListen},
		"both":           {platform + own + command.Platform + "=true", "runs.db", "127.0.0.1:81"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			flags := flag.NewFlagSet("", flag.ContinueOnError)
			serveVerb.Prepare(flags)
			_, err := command.FromEnvironment(flags, command.Prefix)
			require.NoError(t, err)
			require.Equal(t, c.db, flags.Lookup("db").Value.String())
			require.Equal(t, c.listen, flags.Lookup("listen").Value.String())
		})
	}
	t.Setenv(command.Platform, "perhaps")
	_, err := command.FromEnvironment(flag.NewFlagSet("", flag.ContinueOnError), command.Prefix)
	require.ErrorContains(t, err, `$INTERLUDE_PLATFORM is "perhaps"`)
}

// flagRow is the row of a verb: each flag with its default, unless that is empty, false or zero. A
// verb without flags besides the common ones has no row.
func flagRow(t *testing.T, verb string, flags *flag.FlagSet) string {
	t.Helper()
	self, err := user.Current()
	require.NoError(t, err)
	var names []string
	flags.VisitAll(func(f *flag.Flag) {
		name := "-" + f.Name
		if slices.Contains([]string{"db", "json", "schema"}, f.Name) && flags.Lookup("schema") != nil {
			return // the text above the table has them
		}
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
