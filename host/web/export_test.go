package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/interlude-go/interlude/lifecycle"
)

// StatusesByName are the statuses of the library's errors.
func StatusesByName() map[string]string {
	names := map[string]error{
		"lifecycle.ErrNotFound": lifecycle.ErrNotFound, "lifecycle.ErrNotAllowed": lifecycle.ErrNotAllowed,
		"lifecycle.ErrNotAsked": lifecycle.ErrNotAsked, "lifecycle.ErrSettled": lifecycle.ErrSettled,
		"lifecycle.ErrNotWaiting": lifecycle.ErrNotWaiting, "lifecycle.ErrClaimed": lifecycle.ErrClaimed,
		"lifecycle.ErrQuestionChanged": lifecycle.ErrQuestionChanged, "lifecycle.ErrVoted": lifecycle.ErrVoted,
		"lifecycle.ErrReassigned": lifecycle.ErrReassigned, "lifecycle.ErrKeyConflict": lifecycle.ErrKeyConflict,
		"lifecycle.ErrSpecConflict": lifecycle.ErrSpecConflict, "lifecycle.ErrTerminal": lifecycle.ErrTerminal,
		"lifecycle.ErrNotHeld": lifecycle.ErrNotHeld, "lifecycle.ErrRunChanged": lifecycle.ErrRunChanged,
		"lifecycle.ErrCannotFork": lifecycle.ErrCannotFork, "lifecycle.ErrUnknownPool": lifecycle.ErrUnknownPool,
		"lifecycle.ErrCursorBeyondEnd": lifecycle.ErrCursorBeyondEnd, "lifecycle.ErrNoStats": lifecycle.ErrNoStats,
		"lifecycle.ErrInvalidReply": lifecycle.ErrInvalidReply, "lifecycle.ErrNoUsage": lifecycle.ErrNoUsage,
		"lifecycle.ErrInvalidSpec":     lifecycle.ErrInvalidSpec,
		"lifecycle.ErrInvalidArgument": lifecycle.ErrInvalidArgument,
	}
	statuses := make(map[string]string)
	d := &door{log: slog.New(slog.DiscardHandler)}
	c := &caller{request: httptest.NewRequest(http.MethodGet, "/", nil)}
	for name, err := range names {
		statuses[name] = strconv.Itoa(d.problem(c, err).Status)
	}
	return statuses
}
