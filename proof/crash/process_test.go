package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/crash"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

// Hosts wait for disks and clocks most of the time. By default, more scenarios are therefore played
// at one time than there are processors.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", strconv.Itoa(max(8, runtime.NumCPU()))); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

// program builds the host without the race detector, since it is started a thousand times.
func program(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "host")
	out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", path, "./host").CombinedOutput()
	require.NoError(tb, err, "%s", out)
	return path
}

// troupe plays cases with hosts in separate processes.
type troupe struct {
	program string
	store   []string // the flags that name the store
	id      string
	journal string
	base    time.Time
}

// host starts a host and returns its output, and whether it came to the point of its fault. With
// killed set, the host must have been killed there.
func (c *troupe) host(tb testing.TB, scenario *crash.Scenario, killed bool, flags ...string) (_ []byte, reached bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, append(append([]string{
		"-scenario", scenario.Name, "-case", c.id, "-journal", c.journal, "-base", strconv.FormatInt(c.base.UnixMicro(),
			10),
	}, c.store...), flags...)...)
	cmd.Env = append(os.Environ(), "GOGC=off") // the process ends before there is anything to collect
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == crash.StatusNotReached {
		return nil, false
	}
	if !killed {
		require.NoError(tb, err, "host %s: %s", strings.Join(flags, " "), wrong.String())
		return out.Bytes(), true
	}
	require.True(tb, errors.As(err, &exit) && exit.ExitCode() == -1 && ctx.Err() == nil,
		"host %s was not killed: %v: %s", strings.Join(flags, " "), err, wrong.String())
	return nil, true
}

// play is a player.
func (c *troupe) play(tb testing.TB, scenario *crash.Scenario, fault crash.Fault) (found []crash.Point, reached bool) {
	tb.Helper()
	if scenario.Orphans {
		c.host(tb, scenario, true, "-role", string(crash.First))
	}
	said, reached := c.host(tb, scenario, fault.Ends(), "-point", fault.Point, "-outcome", string(fault.Outcome))
	if !reached {
		return nil, false
	}
	c.host(tb, scenario, false, "-role", string(crash.Last), fmt.Sprintf("-crashed=%t", fault.Ends()))
	for lines := json.NewDecoder(bytes.NewReader(said)); lines.More(); {
		var p crash.Point
		require.NoError(tb, lines.Decode(&p))
		found = append(found, p)
	}
	return found, true
}

// I9 E5 E6 C5 K5: each host is a process that kills itself with kill -9 at its point. Each case has
// a separate file.
func TestSQLite(t *testing.T) {
	host := program(t)
	everywhere(t, listed, killed(0), func(t *testing.T, scenario *crash.Scenario, fault crash.Fault) ([]crash.Point,
		bool) {
		t.Helper()
		dir, err := os.MkdirTemp("", "crash")
		require.NoError(t, err)
		defer os.RemoveAll(dir)
		c := &troupe{program: host, store: []string{"-store", filepath.Join(dir, "runs.db")}, id: "case",
			journal: filepath.Join(dir, "journal"), base: time.Now()}
		return c.play(t, scenario, fault)
	})
}

// I9 E5 E6 C5 K5: like TestSQLite. The cases of a scenario share a schema, unless they are about
// the schema's content as a whole.
func TestPostgreSQLLosesNoWorkOfAKilledHost(t *testing.T) {
	host := program(t)
	dir := t.TempDir()
	var cases atomic.Int64
	dsn, schemas := "", make(map[string]string)
	for _, scenario := range crash.Scenarios() {
		if !scenario.Upkeep && !scenario.Feed {
			dsn, schemas[scenario.Name] = pgtest.Schema(t)
		}
	}
	everywhere(t, listed, killed(1), func(t *testing.T, scenario *crash.Scenario, fault crash.Fault) ([]crash.Point,
		bool) {
		t.Helper()
		schema := schemas[scenario.Name]
		if schema == "" {
			_, schema = pgtest.Schema(t)
		}
		id := fmt.Sprintf("case-%d", cases.Add(1))
		c := &troupe{program: host, store: []string{"-store", dsn, "-schema", schema}, id: id,
			journal: filepath.Join(dir, id), base: time.Now()}
		return c.play(t, scenario, fault)
	})
}
