package exec

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine/process"
)

// Limits of a query.
const (
	queryTime = 30 * time.Second
	maxAnswer = 256 << 10 // bytes
)

type installed struct {
	process.Program

	version string
}

func (i installed) String() string {
	if i.version == "" {
		return i.Path
	}
	return i.Path + " (version " + i.version + ")"
}

// installed finds the program, and queries its version once.
func (e *Engine) installed(ctx context.Context) (installed, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return installed{}, err
	}
	found := installed{Program: program, version: e.cfg.Version}
	if len(e.cfg.VersionArgs) == 0 {
		return found, nil
	}
	version, err := e.version.Answer(program, func() (string, time.Duration, error) {
		answer, err := e.Query(ctx, e.cfg.VersionArgs...)
		return versionIn(answer), 0, err
	})
	if err != nil {
		return found, fmt.Errorf("exec: version: %w", err)
	}
	found.version = cmp.Or(found.version, version)
	return found, nil
}

// Query runs the agent's program with other arguments, for example --help, and an empty input. It
// returns at most 256 KiB of standard output, or, if that is empty, the last 4 KiB of error output,
// where some programs print their help. The program has a turn's environment, a temporary home, and
// 30 seconds. The error says how it ended.
func (e *Engine) Query(ctx context.Context, args ...string) (string, error) {
	program, err := process.FindProgram(e.cfg.Command)
	if err != nil {
		return "", err
	}
	home, err := os.MkdirTemp("", "interlude-query-")
	if err != nil {
		return "", fmt.Errorf("exec: %w", err)
	}
	defer func() { _ = os.RemoveAll(home) }()
	values := make(map[string]string, len(placeholders))
	for name := range placeholders {
		values[name] = ""
	}
	for _, folder := range []string{"{home}", "{workdir}", "{artifacts}", "{transcripts}"} {
		values[folder] = home
	}
	environment := e.cfg.environment()
	env, secrets, err := environment.Resolve(values)
	if err != nil {
		return "", err
	}
	const queryRun = "query" // the run id of all queries: each ends processes that a dead host left of an earlier one
	_ = e.processes.Reap(ctx, queryRun)
	p, err := e.processes.Start(process.Command{RunID: queryRun, Path: program.Path, Args: args, Dir: home,
		Env: env, TempIn: environment.TempIn(home), Redact: secrets, Grace: e.cfg.Grace})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	stop := context.AfterFunc(ctx, p.End)
	answer, _ := io.ReadAll(io.LimitReader(secrets.Reader(p.Stdout),
		maxAnswer)) // the exit status says more than an error
	_, _ = io.Copy(io.Discard, p.Stdout)
	defer p.Release() // waits for its end
	<-p.Ended()
	stop()
	if ctx.Err() != nil {
		return "", fmt.Errorf("exec: %s %s: %w", program.Path, strings.Join(args, " "), context.Cause(ctx))
	}
	if err := p.Err(); err != nil && len(answer) == 0 {
		said := process.ForPeople(p.ErrorText(), 500)
		return "", fmt.Errorf("exec: %s %s: %w: %s", program.Path, strings.Join(args, " "), err, said)
	}
	if len(answer) == 0 {
		answer = []byte(p.ErrorText())
	}
	return strings.ToValidUTF8(string(answer), "\uFFFD"), nil
}

var versionPattern = regexp.MustCompile(`\d+(\.\d+)+`)

func versionIn(text string) string { return versionPattern.FindString(text) }

// untestedVersion returns a warning if the version is outside of Tried, else "".
func (c Config) untestedVersion(found string) string {
	from, to := c.Tried[0], c.Tried[1]
	if found == "" || from == "" && to == "" {
		return ""
	}
	if (from == "" || compareVersions(from, found) <= 0) && (to == "" || compareVersions(found, to) <= 0) {
		return ""
	}
	return fmt.Sprintf("%s %s is not one of the tested versions: %s to %s", c.Name, found, from, to)
}

// compareVersions compares number by number; a missing number is 0.
func compareVersions(a, b string) int {
	for a != "" || b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		n, _ := strconv.Atoi(x) // digits by the pattern; a missing one is 0
		m, _ := strconv.Atoi(y)
		if n != m {
			return cmp.Compare(n, m)
		}
	}
	return 0
}
