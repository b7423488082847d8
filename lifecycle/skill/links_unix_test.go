//go:build unix

package skill_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle/skill"
)

// J11: a third party's skill neither reads a file of the host nor blocks its loader.
func TestASkillReadsRegularFilesOfItsFolderOnly(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		make func(t *testing.T, path string)
		says string // empty: it is read
	}{
		"a pipe": {"SKILL.md", pipe, "no regular file"},
		"a pipe behind a link": {"SKILL.md", func(t *testing.T, p string) {
			pipe(t, p+".pipe")
			link(t, "SKILL.md.pipe", p)
		}, "no regular file"},
		"the host's file": {"SKILL.md", func(t *testing.T, p string) {
			link(t, "/etc/passwd", p)
		}, "link to /etc/passwd"},
		"a file above": {"assets/runner.json", func(t *testing.T, p string) {
			link(t, "../../secret", p)
		}, "out of the skill folder"},
		"a link to itself": {"SKILL.md", func(t *testing.T, p string) { link(t, "SKILL.md", p) }, "too many links"},
		"a device": {"SKILL.md", func(t *testing.T, p string) {
			link(t, "/dev/zero", p)
		}, "link to /dev/zero"},
		"a folder": {"SKILL.md", func(t *testing.T, p string) {
			require.NoError(t, os.Mkdir(p, 0o700))
		}, "no regular file"},
		"the host's folder": {"assets/output.schema.json", func(t *testing.T, p string) {
			link(t, "/etc", filepath.Dir(p)+"/etc")
			link(t, "etc/passwd", p)
		}, "link to /etc"},
		"a link within": {"SKILL.md", func(t *testing.T, p string) {
			within(t, p, "data/it", "data/it", "Do it.")
		}, ""},
		"links of mounted config": {"SKILL.md", func(t *testing.T, p string) {
			link(t, "data", filepath.Dir(p)+"/..data")
			within(t, p, "data/it", "..data/it", "Do it.")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "skill")
			for file, content := range folder() {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), content.Data, 0o600))
			}
			path := filepath.Join(dir, c.file)
			require.NoError(t, os.Remove(path))
			c.make(t, path)
			s, err := skill.Load(os.DirFS(dir))
			if c.says == "" {
				require.NoError(t, err)
				require.Equal(t, "Do it.", s.Instructions)
				return
			}
			var wrong *skill.Error
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	require.NoError(t, os.Symlink(to, path))
}

func within(t *testing.T, path, file, target, content string) {
	t.Helper()
	file = filepath.Join(filepath.Dir(path), file)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	link(t, target, path)
}

func pipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}
