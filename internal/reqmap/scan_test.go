package reqmap_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/reqmap"
)

// found scans a repository with one file, and returns the ids in it.
func found(t *testing.T, path, text string) []string {
	t.Helper()
	root := t.TempDir()
	path = filepath.Join(root, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	m, err := reqmap.Scan(root)
	require.NoError(t, err)
	return slices.Sorted(maps.Keys(m))
}

// The scan skips this folder, so that the ids in these examples do not count as proof.
func TestScanFindsIDsInCommentsAndNames(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a comment":              {"// D3, F2: the slot is held\nfunc TestX() {}", []string{"D3", "F2"}},
		"an id beyond the seeds": {"// J10: the node goes on\nfunc TestJ8J12X() {}", []string{"J10", "J12", "J8"}},
		"a range and an owner": {"// B1–B11, and G4's checker (I9).\nfunc TestX() {}", []string{"B1", "B11", "G4",
			"I9"}},
		"a sub-test": {"func TestX() { run(\"D3/F2: it waits\"); run(\"C4\") }", []string{"C4", "D3",
			"F2"}},
		"a test's name":           {"func TestD3StickyTimeout() {}", []string{"D3"}},
		"a name with two":         {"func TestD3F2Sticky() {}", []string{"D3", "F2"}},
		"a name of parts":         {"func Test_D3_sticky() {}\nfunc TestSticky_F2() {}", []string{"D3", "F2"}},
		"a fuzz target":           {"func FuzzC2Question() {}", []string{"C2"}},
		"a moment is no id":       {"// T1 comes before T2\nfunc TestT1Later() {}", nil},
		"an id that is not":       {"// B12, D0, H9, I.9\nfunc TestB12() {}", nil},
		"a longer word":           {"// SHA1 utf-B7x AD3 D3x\nfunc TestX() {}", nil},
		"base64":                  {"var x = \"c2VlZA+A1/x==B7=\"", nil},
		"hexadecimal":             {"var x = \"0xA1 deadbeefA1 a1-E4-ff\"", nil},
		"percent escapes":         {"var x = \"https://h/%E4%B8?x=%A1\"", nil},
		"a UUID":                  {"var x = \"9f3c-b2-E8-a1\"", nil},
		"an identifier":           {"var A1 = B2", nil},
		"a benchmark never fails": {"// I13: parked runs cost nothing\nfunc BenchmarkClaim() { run(\"D3\") }", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, found(t, "store/x_test.go", "package x\n\n"+c.text+"\n"))
		})
	}
}

func TestScanFindsTestsAndTheirLines(t *testing.T) {
	const source = "package x\n\n// D3\nfunc x() {}\n"
	for path, want := range map[string][]string{
		"store/x_test.go":                    {"D3"},
		"store/storetest/x.go":               {"D3"},
		"engine/enginetest/x.go":             {"D3"},
		"lifecycle/lifecycletest/x.go":       {"D3"},
		"store/x.go":                         nil,
		"store/testdata/x_test.go":           nil,
		".tools/x_test.go":                   nil,
		"internal/reqmap/x_test.go":          nil,
		"docs/internals/requirements.md":     nil,
		"lifecycle/stories/README.md":        nil,
		"lifecycle/testdata/sticky.txt":      nil,
		"lifecycle/stories/slots/sticky.txt": {"D3"},
	} {
		t.Run(path, func(t *testing.T) { require.Equal(t, want, found(t, path, source)) })
	}
}
