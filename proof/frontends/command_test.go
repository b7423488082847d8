package frontends_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/proof/cast"
)

// The exit statuses of interlude reply that docs/cli.md lists, and two that only this test uses.
const (
	exitDone        = 0
	exitTooLate     = 4
	exitUnavailable = 5
	exitKilled      = -1 // the test has killed the program
	exitUnknown     = -2 // the program could not be started
)

// commandLine replies with the program interlude, which opens the store itself.
type commandLine struct {
	program, store string
	lead           atomic.Int64 // how long the last call took; the other frontEnds begin that much later

	// accepted and late count replies, and killed counts processes.
	accepted, late, killed atomic.Int64
}

// buildProgram builds the program from this repository, and calls it once for a store with its
// tables.
func buildProgram(t *testing.T, store string) *commandLine {
	t.Helper()
	c := &commandLine{program: filepath.Join(t.TempDir(), "interlude"), store: store}
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", c.program, "../../cmd/interlude")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	began := time.Now()
	said, status := c.call(t.Context(), false, "inbox", "-db", store)
	require.Equal(t, exitDone, status, said)
	c.lead.Store(int64(time.Since(began)))
	return c
}

// reply makes the same call again and again, as a script does, until the program gives an answer.
// One process in ten is killed at a random moment.
func (c *commandLine) reply(ctx context.Context, q asked) outcome {
	key := strconv.FormatUint(rand.Uint64(), 36)
	for until := time.Now().Add(patience); time.Now().Before(until) && ctx.Err() == nil; {
		began, kill := time.Now(), sample.N(10) == 0
		said, status := c.call(ctx, kill, "reply", "-db", c.store, "-as", "gina", "-key", key,
			"-question", strconv.Itoa(q.ID), q.run, "gina was")
		switch status {
		case exitDone:
			c.lead.Store(int64(time.Since(began)))
			c.accepted.Add(1)
			return outcome{done: true}
		case exitTooLate:
			c.lead.Store(int64(time.Since(began)))
			c.late.Add(1)
			return c.tooLate(said)
		case exitKilled:
			c.killed.Add(1)
		case exitUnavailable:
			cast.Pause(ctx, sample.N(5*time.Millisecond))
		default:
			return wrong("status %d: %s", status, said)
		}
	}
	return outcome{unknown: true}
}

// call executes the program once, and returns its error text and status.
func (c *commandLine) call(ctx context.Context, kill bool, args ...string) (said string, status int) {
	if kill {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, sample.N(time.Duration(c.lead.Load())+time.Millisecond))
		defer end()
	}
	var text bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Stderr = &text
	var ended *exec.ExitError
	switch err := cmd.Run(); {
	case err == nil:
		return "", exitDone
	case errors.As(err, &ended):
		return text.String(), ended.ExitCode()
	case ctx.Err() != nil:
		return "", exitKilled // before it began, or right at its end
	default:
		return err.Error(), exitUnknown
	}
}

var tooLate = regexp.MustCompile(`too late: question 1 of \S+ was settled by ([a-z ]+?)(?: of (\S+))?` +
	`(?: for \S+)?(?: via \S+)?, `)

// tooLate reads the program's message to a loser.
func (*commandLine) tooLate(said string) outcome {
	told := tooLate.FindStringSubmatch(said)
	if told == nil {
		return wrong("%s", said)
	}
	return outcome{winner: winner(strings.ReplaceAll(told[1], " ", "_"), told[2])}
}
