package interaction_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/interaction"
)

// N8: a question with invalid files is not asked, the error names the file and the field, and a
// path or a name cannot lead out of the run's artifacts or deceive.
func TestN8FilesAreValid(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for want, change := range map[string]func(*interaction.File){
		"":                       func(*interaction.File) {},
		" ":                      func(f *interaction.File) { f.Name = strings.Repeat("a", interaction.MaxFileName) },
		"  ":                     func(f *interaction.File) { f.MediaType = "a/" + strings.Repeat("b", 125) },
		"   ":                    func(f *interaction.File) { f.Size = 0 },
		"    ":                   func(f *interaction.File) { f.Size = interaction.MaxFileSize },
		"     ":                  func(f *interaction.File) { f.Path = strings.Repeat("a", interaction.MaxFilePath) },
		"0 bytes, want 1 to 255": func(f *interaction.File) { f.Name = "" },
		"256 bytes":              func(f *interaction.File) { f.Name = strings.Repeat("a", 256) },
		"without slashes":        func(f *interaction.File) { f.Name = "../a.png" },
		"without slashes ":       func(f *interaction.File) { f.Name = `..\a.png` },
		`gpj\\u{202E}.exe`:       func(f *interaction.File) { f.Name = "gpj\u202e.exe" },
		"visible characters":     func(f *interaction.File) { f.Name = "a\r\nSet-Cookie: b" },
		"type and subtype":       func(f *interaction.File) { f.MediaType = "png" },
		"type and subtype ":      func(f *interaction.File) { f.MediaType = "text/html; charset=utf-7" },
		"type and subtype  ":     func(f *interaction.File) { f.MediaType = "image/png\r\nX: y" },
		"type and subtype   ":    func(f *interaction.File) { f.MediaType = "Image/PNG" },
		"type and subtype    ":   func(f *interaction.File) { f.MediaType = "a/" + strings.Repeat("b", 126) },
		"-1 bytes":               func(f *interaction.File) { f.Size = -1 },
		"want at most 16777216":  func(f *interaction.File) { f.Size = interaction.MaxFileSize + 1 },
		"64 digits":              func(f *interaction.File) { f.SHA256 = strings.ToUpper(sum) },
		"below the run's":        func(f *interaction.File) { f.Path = "../home/key" },
		"below the run's ":       func(f *interaction.File) { f.Path = "/etc/passwd" },
		"below the run's  ":      func(f *interaction.File) { f.Path = `a\..\..\b` },
		"below the run's   ":     func(f *interaction.File) { f.Path = "C:/a" },
		"below the run's    ":    func(f *interaction.File) { f.Path = "." },
		"below the run's     ":   func(f *interaction.File) { f.Path = "a//b" },
		"below the run's      ": func(f *interaction.File) {
			f.Path = strings.Repeat("a", 1+interaction.MaxFilePath)
		},
		"below the run's       ":  func(f *interaction.File) { f.Path = "a\x00b" },
		"below the run's        ": func(f *interaction.File) { f.Path = "" },
	} {
		f := interaction.File{Name: "a.png", MediaType: "image/png", Size: 7, SHA256: sum, Path: "out/a.png"}
		change(&f)
		q := interaction.Question{Prompt: "?", Files: &interaction.Files{List: []interaction.File{f}}}
		err := q.Validate()
		if want = strings.TrimSpace(want); want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
		asked, diagnostics := interaction.Normalize(q)
		require.Nil(t, asked.Files)
		require.Len(t, diagnostics, 1)
	}
	many := interaction.Files{}
	for range interaction.MaxFiles {
		many.List = append(many.List, interaction.File{Name: "a", MediaType: "image/png", SHA256: sum, Path: "a"})
	}
	require.NoError(t, many.Validate())
	for _, n := range []int{0, interaction.MaxFiles + 1} {
		q := interaction.Question{Files: &interaction.Files{List: make([]interaction.File, n)}}
		require.ErrorContains(t, q.Validate(), "files, want 1 to 16")
	}
	hidden := interaction.Question{Files: &interaction.Files{Host: "\u200b", List: make([]interaction.File, 1)}}
	require.ErrorContains(t, hidden.Validate(), "host")
	many.Host = strings.Repeat("h", interaction.MaxFileName)
	require.NoError(t, many.Validate())
	many.Host += "h"
	require.ErrorContains(t, many.Validate(), "host")
}

// N8: files and summary are part of the digest, the machine is not, and a question without them
// has the digest of earlier releases.
func TestN8TheDigestBindsFilesAndSummary(t *testing.T) {
	q := interaction.Question{Kind: interaction.Approval, Prompt: "Pay?", Subject: &interaction.Subject{Tool: "pay"}}
	plain := q.Digest()
	sum := sha256.Sum256([]byte(`{"kind":"approval","prompt":"Pay?","subject":{"tool":"pay"}}`))
	require.Equal(t, hex.EncodeToString(sum[:]), plain)
	q.Files = &interaction.Files{Host: "a", List: []interaction.File{{Name: "a", MediaType: "text/plain", Path: "a"}}}
	one := q.Digest()
	require.NotEqual(t, plain, one)
	q.Files.Host = "b"
	require.Equal(t, one, q.Digest())
	q.Files.List[0].SHA256 = "0"
	require.NotEqual(t, one, q.Digest())
	q.Files, q.Subject = nil, &interaction.Subject{Tool: "pay", Summary: "5 EUR to ann"}
	require.NotEqual(t, plain, q.Digest())
	long := strings.Repeat("é", interaction.MaxSummary)
	q.Subject.Summary = long
	asked, diagnostics := interaction.Normalize(q)
	require.Equal(t, long[:interaction.MaxSummary], asked.Subject.Summary)
	require.Len(t, diagnostics, 1)
}

// N8: an agent's text sets neither files nor a summary.
func TestN8TextSetsNoFiles(t *testing.T) {
	r := interaction.Read("<ASK_USER_YAML>\nprompt: x\nfiles: {host: a, list: [{name: a, path: a}]}\n"+
		"subject: {tool: pay, summary: free}\n</ASK_USER_YAML>", nil)
	require.NotNil(t, r.Question)
	require.Nil(t, r.Question.Files)
	require.Nil(t, r.Question.Subject)
}
