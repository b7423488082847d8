package web_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// statusless are rows of docs/errors.md with a status whose errors the API never returns, with the
// reason.
var statusless = map[string]string{
	"slots.ErrInvalidPool": "pools are configured by the host",
	"store.ErrExists":      "lifecycle compares, and reports the conflict",
	"store.ErrConflict":    "lifecycle decides again",
	"store.ErrStaleEpoch":  "only workers get it",
}

// errorsByName are the errors of docs/errors.md that have a status.
var errorsByName = map[string]error{
	"lifecycle.ErrInvalidArgument": lifecycle.ErrInvalidArgument, "lifecycle.ErrInvalidSpec": lifecycle.ErrInvalidSpec,
	"lifecycle.ErrSpecConflict": lifecycle.ErrSpecConflict, "lifecycle.ErrUnknownPool": lifecycle.ErrUnknownPool,
	"lifecycle.ErrNotFound": lifecycle.ErrNotFound, "lifecycle.ErrInvalidReply": lifecycle.ErrInvalidReply,
	"lifecycle.ErrQuestionChanged": lifecycle.ErrQuestionChanged, "lifecycle.ErrNotAsked": lifecycle.ErrNotAsked,
	"lifecycle.ErrClaimed": lifecycle.ErrClaimed, "lifecycle.ErrReassigned": lifecycle.ErrReassigned,
	"lifecycle.ErrVoted": lifecycle.ErrVoted, "lifecycle.ErrNotWaiting": lifecycle.ErrNotWaiting,
	"lifecycle.ErrSettled": lifecycle.ErrSettled, "lifecycle.ErrKeyConflict": lifecycle.ErrKeyConflict,
	"lifecycle.ErrTerminal": lifecycle.ErrTerminal, "lifecycle.ErrCursorBeyondEnd": lifecycle.ErrCursorBeyondEnd,
	"lifecycle.ErrNotHeld": lifecycle.ErrNotHeld, "lifecycle.ErrPoolChanged": lifecycle.ErrPoolChanged,
	"lifecycle.ErrCannotFork": lifecycle.ErrCannotFork, "lifecycle.ErrRunChanged": lifecycle.ErrRunChanged,
	"lifecycle.ErrNotAllowed": lifecycle.ErrNotAllowed, "lifecycle.ErrUnavailable": lifecycle.ErrUnavailable,
	"lifecycle.ErrFull": lifecycle.ErrFull, "lifecycle.ErrFeedTaken": lifecycle.ErrFeedTaken,
	"lifecycle.ErrFeedLost": lifecycle.ErrFeedLost, "lifecycle.ErrTooMany": lifecycle.ErrTooMany,

	"lifecycle.ArgumentError": &lifecycle.ArgumentError{}, "lifecycle.SpecError": &lifecycle.SpecError{},
	"lifecycle.WaitError": &lifecycle.WaitError{}, "lifecycle.SettledError": &lifecycle.SettledError{},
	"lifecycle.TerminalError": &lifecycle.TerminalError{}, "lifecycle.NotAllowedError": &lifecycle.NotAllowedError{},

	"interaction.ErrInvalidReply": interaction.ErrInvalidReply, "interaction.FieldError": &interaction.FieldError{},
	"lifecycle.ErrNotDeputy": lifecycle.ErrNotDeputy, "interaction.ErrNotDeputy": interaction.ErrNotDeputy,
	"interaction.NotDeputyError": &interaction.NotDeputyError{},
	"interaction.ErrNotAsked":    interaction.ErrNotAsked, "interaction.NotAskedError": &interaction.NotAskedError{},
	"interaction.ErrClaimed": interaction.ErrClaimed, "interaction.ClaimedError": &interaction.ClaimedError{},
	"interaction.ErrReassigned":      interaction.ErrReassigned,
	"interaction.ReassignedError":    &interaction.ReassignedError{},
	"interaction.ErrVoted":           interaction.ErrVoted,
	"interaction.VotedError":         &interaction.VotedError{},
	"interaction.ValueError":         &interaction.ValueError{},
	"interaction.ErrQuestionChanged": interaction.ErrQuestionChanged,
	"interaction.ChangedError":       &interaction.ChangedError{},
	"slots.ErrInvalidPool":           slots.ErrInvalidPool,

	"lifecycle.ErrFileMissing": lifecycle.ErrFileMissing, "lifecycle.ErrFileChanged": lifecycle.ErrFileChanged,

	"store.ErrNotFound": store.ErrNotFound, "store.ErrExists": store.ErrExists, "store.ErrConflict": store.ErrConflict,
	"store.ErrStaleEpoch": store.ErrStaleEpoch, "store.ErrUnknownPool": store.ErrUnknownPool,
	"store.ErrInvalid": store.ErrInvalid, "store.ErrClosed": store.ErrClosed, "store.ErrCorrupt": store.ErrCorrupt,
	"store.ErrNewer":       store.ErrNewer,
	"store.ErrUnavailable": store.ErrUnavailable, "store.ErrFull": store.ErrFull,
	"store.ErrFeedLost": store.ErrFeedLost, "store.ErrTooMany": store.ErrTooMany,

	"sqlite.ErrCorrupt": sqlite.ErrCorrupt, "sqlite.ErrFull": sqlite.ErrFull, "sqlite.ErrReadOnly": sqlite.ErrReadOnly,
	"sqlite.ErrReplaced": sqlite.ErrReplaced, "sqlite.ErrBusy": sqlite.ErrBusy,

	"postgres.ErrUnreachable": postgres.ErrUnreachable, "postgres.ErrRights": postgres.ErrRights,
	"postgres.ErrConnections": postgres.ErrConnections, "postgres.ErrFull": postgres.ErrFull,
	"postgres.ErrReadOnly": postgres.ErrReadOnly, "postgres.ErrTimeout": postgres.ErrTimeout,
	"postgres.ErrSerialization": postgres.ErrSerialization, "postgres.ErrDown": postgres.ErrDown,
	"postgres.ErrPooler": postgres.ErrPooler, "postgres.ErrInTransaction": postgres.ErrInTransaction,
	"postgres.ErrWrongServer": postgres.ErrWrongServer, "postgres.ErrUnreplicated": postgres.ErrUnreplicated,
}

// Each error is answered with the status in docs/errors.md.
func TestL2StatusesAreThoseOfTheErrorsPage(t *testing.T) {
	text, err := os.ReadFile("../../docs/errors.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(\\w+\\.\\w+)` .*\\| (\\d+) \\|$").FindAllStringSubmatch(string(text), -1)
	seen := make(map[string]bool)
	for _, row := range rows {
		name := row[1]
		seen[name] = true
		err, known := errorsByName[name]
		require.True(t, known, "%s has a status on the page; add it here", name)
		if statusless[name] == "" {
			got := web.StatusOf(fmt.Errorf("lifecycle: a call failed: %w", err))
			require.Equal(t, row[2], strconv.Itoa(got), name)
		}
	}
	for name := range errorsByName {
		require.True(t, seen[name], "%s has no status on the page", name)
	}
}
