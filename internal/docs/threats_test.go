package docs_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each threat of docs/threat-model.md names requirements, each of which has tests on the page of
// requirements.
func TestEachThreatNamesARequirement(t *testing.T) {
	requirements := read(t, "docs/internals/requirements.md")
	link := regexp.MustCompile(`\[([A-Z]\d+)\]\(internals/requirements\.md#([a-z]\d+)\)`)
	threats := 0
	for _, r := range rows(read(t, "docs/threat-model.md")) {
		last := r[len(r)-1]
		if len(r) != 3 || !link.MatchString(last) { // another table
			continue
		}
		threats++
		for _, m := range link.FindAllStringSubmatch(last, -1) {
			require.Equal(t, m[1], upper(m[2]))
			require.Contains(t, requirements, "\n## "+m[1]+"\n", r[0])
		}
	}
	require.Greater(t, threats, 25)
}

func upper(anchor string) string { return string(anchor[0]-'a'+'A') + anchor[1:] }
