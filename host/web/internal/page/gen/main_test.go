package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// N4: the page's table is up to date with package interaction.
func TestN4CharactersAreFresh(t *testing.T) {
	body, err := os.ReadFile("../assets/characters.js")
	require.NoError(t, err)
	require.Equal(t, script(), string(body), "run go generate ./... in host/web")
}
