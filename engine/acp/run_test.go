package acp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// run is a run as its engine sees it.
type run struct {
	testing.TB
	enginetest.Recorder
	engine *acp.Engine
	turn   engine.Turn

	mu      sync.Mutex
	handles []engine.SessionHandle // guarded by mu; as reported
	refuse  func(string) bool      // guarded by mu; reports which handles are refused
}

// Session keeps h in addition to the Recorder, or refuses it.
func (r *run) Session(ctx context.Context, h engine.SessionHandle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuse != nil && r.refuse(string(h.Data)) {
		return engine.ErrStale
	}
	h.Data = slices.Clone(h.Data)
	r.handles = append(r.handles, h)
	return r.Recorder.Session(ctx, h)
}

func (r *run) Handles() []engine.SessionHandle {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.handles)
}

// refusing executes the next turn, in which a handle without a decision is refused.
func (r *run) refusing(input string) (engine.Outcome, error) {
	r.mu.Lock()
	r.refuse = func(data string) bool { return !strings.Contains(data, "grants") }
	r.mu.Unlock()
	return r.execute(r.Context(), input)
}

// newRun makes a run of an agent, with its folders.
func newRun(tb testing.TB, can string, change func(*acp.Config)) *run {
	tb.Helper()
	dir := tb.TempDir()
	cfg := scripted(tb, dir, can)
	if change != nil {
		change(&cfg)
	}
	r := &run{TB: tb, engine: started(tb, cfg), turn: engine.Turn{
		RunID: "r1", Mode: fsm.ModeInteractive, HomeDir: filepath.Join(dir, "home"),
		WorkDir: filepath.Join(dir, "work"), ArtifactDir: filepath.Join(dir, "artifacts"),
		TranscriptDir: filepath.Join(dir, "transcripts"),
	}}
	for _, d := range []string{r.turn.HomeDir, r.turn.WorkDir, r.turn.ArtifactDir, r.turn.TranscriptDir} {
		require.NoError(tb, os.MkdirAll(d, 0o750))
	}
	return r
}

// execute executes the next turn: the prompt first, answers later.
func (r *run) execute(ctx context.Context, input string) (engine.Outcome, error) {
	if r.turn.Attempt == 0 {
		r.turn.Prompt = input
	} else {
		r.turn.Answers = []interaction.Answer{{ID: r.turn.Attempt, Resolution: interaction.UserReply, Text: input}}
	}
	return r.repeatTurn(ctx)
}

// repeatTurn repeats the turn with the same prompt or answer.
func (r *run) repeatTurn(ctx context.Context) (engine.Outcome, error) {
	r.turn.Attempt++
	o, err := r.engine.RunTurn(ctx, r.turn, r)
	if o.Session == nil {
		o.Session = r.Last()
	}
	r.turn.Session = o.Session
	return o, err
}

// answer executes the next turn, which must succeed.
func (r *run) answer(input string) engine.Outcome {
	r.Helper()
	o, err := r.execute(r.Context(), input)
	require.NoError(r, err)
	require.Equal(r, engine.OK, o.Process.Status, o.Process.Detail)
	return o
}

func (r *run) does(steps ...string) engine.Outcome {
	r.Helper()
	return r.answer(enginetest.Script(steps...))
}

// nobodyAnswers executes the next turn with an automatic decision.
func (r *run) nobodyAnswers(asked interaction.Question) engine.Outcome {
	r.Helper()
	asked.ID = r.turn.Attempt
	auto := interaction.NewAutoDecision(asked).Answer(time.Now())
	auto.Ref = asked.Ref
	r.turn.Answers = []interaction.Answer{auto}
	o, err := r.repeatTurn(r.Context())
	require.NoError(r, err)
	require.Equal(r, engine.OK, o.Process.Status, o.Process.Detail)
	return o
}

// decisions are the answers to the agent's permission requests.
func (r *run) decisions() []string {
	r.Helper()
	body, err := os.ReadFile(filepath.Join(r.turn.ArtifactDir, "decisions"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r, err)
	lines := strings.Split(string(body), "\n")
	return lines[:len(lines)-1] // an incomplete line
}

// transcript returns the attempt's traffic between host and agent.
func (r *run) transcript(attempt int) string {
	r.Helper()
	body, err := os.ReadFile(filepath.Join(r.turn.TranscriptDir, "attempt-"+strconv.Itoa(attempt)+".out"))
	require.NoError(r, err)
	return string(body)
}

// gathering runs a test in which an agent makes several requests at once. On a busy machine, a request may
// arrive after Config.Gather has passed: then the test returns false, and runs again with more time.
func gathering(t *testing.T, can string, story func(can string) bool) {
	t.Helper()
	for gather := 300 * time.Millisecond; !story(can + ",together=" + gather.String()); gather *= 3 {
		require.Less(t, gather, patience, "requests come too late")
	}
}

// gathered counts the permission requests that a transcript has before the host canceled the prompt.
func gathered(transcript string) int {
	transcript, _, _ = strings.Cut(transcript, `"session/cancel"`)
	return strings.Count(transcript, `"session/request_permission"`)
}

func until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	look := time.NewTicker(pause)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-look.C {
		require.False(tb, time.Now().After(deadline), "waited in vain until %s", what)
	}
}

func (r *run) await(file string) {
	r.Helper()
	until(r, file+" is made", func() bool {
		_, err := os.Stat(filepath.Join(r.turn.ArtifactDir, file))
		return err == nil
	})
}

func option(id, name, kind string) sdk.PermissionOption {
	return sdk.PermissionOption{OptionId: sdk.PermissionOptionId(id), Name: name, Kind: sdk.PermissionOptionKind(kind)}
}

// Options as agents offer them.
var (
	threeWays = []sdk.PermissionOption{option("once", "Allow once", "allow_once"), option("always", "Always allow",
		"allow_always"), option("no", "Reject", "reject_once")}
	yesOrNo = []sdk.PermissionOption{option("ok", "Allow", "allow_once"), option("cancel", "Reject", "reject_once")}
)

func removing(path string) wanted {
	input, _ := json.Marshal(map[string]any{"command": "rm -r " + path, "depth": json.Number("9007199254740993")})
	return wanted{Title: "rm -r " + path, Kind: sdk.ToolKindExecute, RawInput: input, Path: "/" + path,
		Options: threeWays}
}

func together(all ...wanted) string {
	body, _ := json.Marshal(all)
	return "together " + string(body)
}

func permit(w wanted) string {
	body, _ := json.Marshal(w)
	return "permit " + string(body)
}
