package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/modeltest"
)

func TestMain(m *testing.M) {
	if os.Getenv("MODELSERVER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The log survives the server's kill and names the answer under way.
func TestLogIsKeptAfterTheServerEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.jsonl")
	cmd := exec.Command(os.Args[0], "-log", file)
	cmd.Env = append(os.Environ(), "MODELSERVER=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	url, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)

	body := strings.NewReader(`{"stream":true,"messages":[{"role":"user","content":":: final half a\n:: hang"}]}`)
	resp, err := http.Post(strings.TrimSpace(url)+"/v1/chat/completions", "application/json", body)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())

	all, err := modeltest.ReadLog(file)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "text, hang", all[0].Plan)
	require.False(t, all[0].Ended)
}

func TestUnknownArgumentsAreRefused(t *testing.T) {
	cmd := exec.Command(os.Args[0], "extra")
	cmd.Env = append(os.Environ(), "MODELSERVER=1")
	said, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "-addr and -log")
}
