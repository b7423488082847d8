package page_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/web/internal/page"
)

var (
	inline  = regexp.MustCompile(`(?i)<script(?: type="module")?>|<style|\sstyle=|\son\w+="|javascript:`)
	markup  = regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function`)
	foreign = regexp.MustCompile(`(?:https?:)?//[a-z0-9-]+\.[a-z]`)
	link    = regexp.MustCompile(`(?:from |href=|src=)"([^"]*)"`)
	names   = regexp.MustCompile(`^[a-z]+\.(html|css|js|svg|webmanifest)$`)
)

// L1: the page needs no build step, no other site and no exception in its policy, and works under
// any prefix: its files are in one folder, have relative links, and contain no inline scripts or
// styles. Untrusted text is never parsed as HTML.
func TestL1ThePageIsItsOwnFilesAlone(t *testing.T) {
	files, err := fs.ReadDir(page.Files, ".")
	require.NoError(t, err)
	for _, file := range files {
		name := file.Name()
		require.Regexp(t, names, name)
		body, err := fs.ReadFile(page.Files, name)
		require.NoError(t, err)
		text := strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", "") // a namespace, never requested
		require.Empty(t, foreign.FindString(text), name)
		require.Empty(t, markup.FindString(text), name)
		if strings.HasSuffix(name, ".html") {
			require.Empty(t, inline.FindString(text), name)
		}
		for _, to := range link.FindAllStringSubmatch(text, -1) {
			target := strings.TrimPrefix(to[1], "./")
			made := target == "logo" || target == "brand.css" // by the handler
			if made || strings.HasPrefix(target, "#") || strings.HasPrefix(target, "api/") {
				continue
			}
			_, err := fs.Stat(page.Files, target)
			require.NoError(t, err, "%s names %s", name, to[1])
		}
	}
}
