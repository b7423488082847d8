package interaction_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

func TestSessionHandlesAreEqualByContent(t *testing.T) {
	h := func() *interaction.SessionHandle {
		return &interaction.SessionHandle{Engine: "e", Version: "1", Data: []byte("data")}
	}
	var none *interaction.SessionHandle
	require.True(t, h().Equal(h()))
	require.True(t, none.Equal(nil))
	require.False(t, none.Equal(h()))
	require.False(t, h().Equal(nil))
	for name, change := range map[string]func(*interaction.SessionHandle){
		"engine":  func(h *interaction.SessionHandle) { h.Engine = "f" },
		"version": func(h *interaction.SessionHandle) { h.Version = "" },
		"data":    func(h *interaction.SessionHandle) { h.Data = []byte("date") },
	} {
		other := h()
		change(other)
		require.False(t, h().Equal(other), name)
	}
}
