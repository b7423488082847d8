package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// packageOf makes a module with one package of one file.
func packageOf(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/m\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m.go"), []byte("package m\n"+source), 0o600))
	return dir
}

// The tests of packages store and lifecycle compare the generated code of the library's structs
// with encoding/json. This test has the structs for which no code must be generated.
func TestAStructThatCannotBeWrittenIsRefused(t *testing.T) {
	for source, want := range map[string]string{
		"type T struct { A float64 `json:\"a\"` }":                         "T.A: type float64 is not supported",
		"type T struct { A int `json:\"a,omitempty\"` }":                   "want a first member that is never left out",
		"type T struct { A int }":                                          "T: want a field with a name and a json",
		"type T struct { U }; type U struct{}":                             "T: want a field with a name and a json",
		"type T struct { A int `json:\"a\"`; B *U `json:\"b,omitempty\"`}": "T.B: type *U is not supported yet",
		"type T struct { A int `json:\"a\"`; B []string `json:\"b\"` }":    "T.B: a member of type []string cannot be",
		"type T struct { A int `json:\"a\"`; B []byte `json:\"b,omit\"`}":  "T.B: a member of type []byte cannot",
		"type T int":             "T is not a struct",
		"type U struct{}":        "there is no type T in package m",
		"type T struct { A int ": "m.go",
	} {
		_, err := generate(packageOf(t, source), nil, []string{"T"})
		require.ErrorContains(t, err, want, source)
	}
}

func TestANamedTextIsAWordAndAFieldWithoutANameInJSONIsLeftOut(t *testing.T) {
	dir := packageOf(t, "type T struct { ID string `json:\"id\"`; Skipped func() `json:\"-\"`; K Kind `json:\"kind\"` }\n"+
		"type Kind = kind\ntype kind string")
	body, err := generate(dir, nil, []string{"T"})
	require.NoError(t, err)
	require.Contains(t, string(body), "w.Text(`,\"kind\":`, string(v.K))")
	require.Contains(t, string(body), "plainjson.Word(s, `,\"kind\":`, &v.K)")
	require.NotContains(t, string(body), "Skipped")
}

func TestAListIsSplitIntoMembers(t *testing.T) {
	const one = "type T struct { A int `json:\"a\"`; Rest []U `json:\"-\" plain:\"first=b%s\"` }\n" +
		"type U struct { A int `json:\"a\"` }"
	body, err := generate(packageOf(t, fmt.Sprintf(one, ",rest=c")), nil, []string{"T"})
	require.NoError(t, err)
	require.Contains(t, string(body), "w.Put(`,\"b\":`)\n\t\twriteU(w, &v.Rest[0])\n"+
		"\t\tplainjson.WriteList(w, `,\"c\":`, v.Rest[1:], writeU)")
	require.Contains(t, string(body), "if s.Member(`,\"b\":`) {\n\t\tv.Rest = make([]U, 1)\n"+
		"\t\treadU(s, &v.Rest[0])\n\t\tif s.Member(`,\"c\":`) {")
	body, err = generate(packageOf(t, fmt.Sprintf(one, "")), nil, []string{"T"})
	require.NoError(t, err)
	require.NotContains(t, string(body), "Rest[1:]", "the others are not written")
	const texts = "type T struct { A int `json:\"a\"`; B []string `json:\"-\" plain:\"first=b\"` }"
	_, err = generate(packageOf(t, texts), nil, []string{"T"})
	require.ErrorContains(t, err, "T.B: a member of type []string cannot be split")
}
